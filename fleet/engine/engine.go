//go:build !noengine

// Package engine runs Temporal inside this process, with its data in a SQLite file: for one
// machine, for trying and for tests. Many machines use a Temporal service of their own.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/protobuf/types/known/durationpb"

	"kerf/fleet/flow"
)

// Here says that this program has the engine.
const Here = true

const local = "127.0.0.1"

// Engine is a running one.
type Engine struct {
	server  temporal.Server
	Address string // host:port
}

// Start starts the engine with its data in file, at port; 0 chooses one.
func Start(file string, port int) (*Engine, error) {
	ports, err := free(port, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	c := settings(file, ports)
	if err = prepare(file, c); err != nil {
		return nil, fmt.Errorf("the engine's data in %s: %w", file, err)
	}
	quiet := log.NewNoopLogger()
	allow, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return nil, err
	}
	e := &Engine{Address: fmt.Sprintf("%s:%d", local, ports[0])}
	if e.server, err = temporal.NewServer(temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts(c)), temporal.WithLogger(quiet), temporal.WithAuthorizer(allow),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(dynamic())); err != nil {
		return nil, fmt.Errorf("the engine: %w", err)
	}
	if err = e.server.Start(); err != nil {
		return nil, fmt.Errorf("the engine does not start: %w", err)
	}
	return e, e.wait()
}

// started is how long the engine may take until it answers, on a machine that has much else to do.
const started = 2 * time.Minute

// wait waits until the engine answers.
func (e *Engine) wait() error {
	for late := time.Now().Add(started); ; time.Sleep(20 * time.Millisecond) {
		c, err := client.Dial(client.Options{HostPort: e.Address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
		if err == nil {
			err = keep(c)
			c.Close()
		}
		if err == nil {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("the engine does not answer: %w", err)
		}
	}
}

// keep sets how long histories are kept, also where an older program made the namespace.
func keep(c client.Client) error {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	_, err := c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{Namespace: Namespace,
		Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(Kept)}})
	return err
}

// Stop ends it.
func (e *Engine) Stop(context.Context) error { return e.server.Stop() }

func dynamic() dynamicconfig.StaticClient {
	one := func(v any) []dynamicconfig.ConstrainedValue { return []dynamicconfig.ConstrainedValue{{Value: v}} }
	return dynamicconfig.StaticClient{
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): one(true),
		dynamicconfig.FrontendEnableWorkerVersioningDataAPIs.Key():  one(false),
		// A queue in one part keeps the order of priorities for all that wait in it.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  one(1),
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): one(1),
	}
}

// attributes are the search attributes of the fleet.
func attributes() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		flow.PhaseAttribute:      enums.INDEXED_VALUE_TYPE_KEYWORD,
		flow.RepositoryAttribute: enums.INDEXED_VALUE_TYPE_KEYWORD,
		flow.MapAttribute:        enums.INDEXED_VALUE_TYPE_KEYWORD,
	}
}

// prepare makes the tables and the namespace where they are not there yet.
func prepare(file string, c *config.Config) error {
	sql := c.Persistence.DataStores[sqliteplugin.PluginName].SQL
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := sqlite.SetupSchema(sql); err != nil {
			return err
		}
	}
	ns, err := sqlite.NewNamespaceConfig("active", Namespace, false, attributes())
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(sql, ns)
}

// settings are those of a server whose four services share this process.
func settings(file string, ports []int) *config.Config {
	address := fmt.Sprintf("%s:%d", local, ports[0])
	service := func(i int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: ports[i], BindOnIP: local}}
	}
	c := &config.Config{
		Services: map[string]config.Service{"frontend": service(0), "history": service(1), "matching": service(2), "worker": service(3)},
		Persistence: config.Persistence{DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName,
			NumHistoryShards: 1, DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: &config.SQL{
				PluginName: sqliteplugin.PluginName, DatabaseName: file,
				ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "full"}}}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: address},
		Archival: config.Archival{History: config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"}},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"}}},
	}
	return c
}

// hosts says where the services are. They are in this process, so none needs to find the others: the way in which
// those of many machines do it ends the process where a machine is too slow for it.
func hosts(c *config.Config) map[primitives.ServiceName]static.Hosts {
	all := map[primitives.ServiceName]static.Hosts{}
	for name, s := range c.Services {
		all[primitives.ServiceName(name)] = static.SingleLocalHost(fmt.Sprintf("%s:%d", local, s.RPC.GRPCPort))
	}
	return all
}

// free finds ports that nobody uses now: those that are asked for, and any for 0. Temporal ends the process, in its own
// words, where a port is taken.
func free(asked ...int) (ports []int, err error) {
	for _, port := range asked {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", local, port))
		if err != nil {
			return nil, fmt.Errorf("the engine's port: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
