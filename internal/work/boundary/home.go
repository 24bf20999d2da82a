package boundary

import "path/filepath"

// startFiles are the places of a home from which shells, desktops, editors and git run
// programs by themselves. The lists of the manuals of bash, zsh, fish, systemd, the XDG
// autostart specification, launchd, git, vim, emacs, tmux and OpenSSH.
var startFiles = []Part{
	{Name: ".bashrc"}, {Name: ".bash_logout"}, {Name: ".bash_aliases"}, {Name: ".profile"},
	{Name: ".zshenv"}, {Name: ".zprofile"}, {Name: ".zshrc"}, {Name: ".zlogin"}, {Name: ".zlogout"},
	{Name: ".kshrc"}, {Name: ".cshrc"}, {Name: ".tcshrc"}, {Name: ".login"}, {Name: ".inputrc"},
	{Name: ".config/fish", Dir: true}, {Name: ".config/powershell", Dir: true}, {Name: ".config/nushell", Dir: true},
	{Name: ".config/environment.d", Dir: true}, {Name: ".pam_environment"},
	{Name: ".xprofile"}, {Name: ".xinitrc"}, {Name: ".xsession"}, {Name: ".xsessionrc"}, {Name: ".xserverrc"},
	{Name: ".config/autostart", Dir: true}, {Name: ".config/systemd", Dir: true},
	{Name: ".config/plasma-workspace", Dir: true}, {Name: ".local/share/systemd", Dir: true},
	{Name: ".local/share/applications", Dir: true}, {Name: ".local/share/dbus-1", Dir: true},
	{Name: "Library/LaunchAgents", Dir: true},
	{Name: ".gitconfig"}, {Name: ".config/git", Dir: true},
	{Name: ".vimrc"}, {Name: ".vim", Dir: true}, {Name: ".config/nvim", Dir: true}, {Name: ".emacs"},
	{Name: ".emacs.d", Dir: true}, {Name: ".config/emacs", Dir: true}, {Name: ".tmux.conf"},
	{Name: ".config/tmux", Dir: true}, {Name: ".screenrc"}, {Name: ".gdbinit"}, {Name: ".forward"}, {Name: ".procmailrc"},
	{Name: ".ssh", Dir: true}, {Name: ".gnupg", Dir: true},
}

// shadowing are further ones. An empty file in their place would make bash pass over
// .profile, so that nothing stands in for them while they are absent.
var shadowing = []string{".bash_profile", ".bash_login"}

// protectHome closes what is run from a home that is a root, or lies in one.
func (r *resolver) protectHome(p Policy) {
	home, err := r.view.Real(p.Home)
	if p.Home == "" || err != nil || r.effective(home) != Write {
		return
	}
	const why = "programs run what is there when you log in or start them"
	for _, part := range startFiles {
		path := filepath.Join(home, filepath.FromSlash(part.Name))
		if r.effective(path) != Write || r.access[path] == Write {
			continue // a rule says something else
		}
		switch r.at(path) {
		case absent:
			if r.at(filepath.Dir(path)) == dir {
				r.closePart(path, part)
			} else {
				r.untouched(path)
			}
		case link:
			r.untouched(path)
			if real, err := r.view.Real(path); err == nil && r.effective(real) == Write {
				r.close(real)
				r.why[real] = why
			}
		default:
			r.close(path)
		}
		r.why[path] = why
	}
	for _, name := range shadowing {
		path := filepath.Join(home, name)
		if r.effective(path) != Write {
			continue
		}
		if at := r.at(path); at == file {
			r.close(path)
		} else {
			r.untouched(path)
		}
		r.why[path] = why
	}
}

// untouched notes a name in whose place nothing can stand: the file tools leave it alone,
// and what commands make there is told.
func (r *resolver) untouched(path string) { r.plan.Untouched = append(r.plan.Untouched, path) }
