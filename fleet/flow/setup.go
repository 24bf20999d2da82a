package flow

import (
	"context"
	"errors"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Setup registers the search attributes in a namespace.
func Setup(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: map[string]enums.IndexedValueType{
			PhaseAttribute:      enums.INDEXED_VALUE_TYPE_KEYWORD,
			RepositoryAttribute: enums.INDEXED_VALUE_TYPE_KEYWORD,
			MapAttribute:        enums.INDEXED_VALUE_TYPE_KEYWORD,
		}})
	if errors.As(err, new(*serviceerror.AlreadyExists)) {
		err = nil
	}
	return err
}
