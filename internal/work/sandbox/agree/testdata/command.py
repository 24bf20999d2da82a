# What a command can do with the paths that a file lists, one in hex per line. It changes
# nothing but where it is told to.
import os, sys, random, time, stat

way, paths = sys.argv[1], [bytes.fromhex(l.strip()) for l in open(sys.argv[2])]


def content(path):
    """Reads a regular file, or gives None."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return os.read(fd, 1 << 16)
    except OSError:
        return None
    finally:
        os.close(fd)


def writable(path):
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    except OSError:
        return False
    regular = stat.S_ISREG(os.fstat(fd).st_mode)
    os.close(fd)
    return regular


def made(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        os.unlink(path)
        return True
    except OSError:
        return False


def replaced(path):
    """Takes the name away, by removing it or by giving it to another file."""
    for take in (lambda: os.rename(path, path + b"-away"), lambda: os.unlink(path),
                 lambda: (open(path + b"-new", "w").close(), os.rename(path + b"-new", path))):
        try:
            take()
            return True
        except (OSError, ValueError):
            pass
    return False


def roam(seconds):
    """Renames, links and exchanges what it can, and tells what it could read."""
    end, seen, rounds = time.time() + seconds, set(), 0
    while time.time() < end:
        names = []
        for top, dirs, files in os.walk(os.getcwdb()):
            names += [os.path.join(top, n) for n in dirs + files]
        random.shuffle(names)
        for a, b in zip(names, names[1:]):
            rounds += 1
            for act in random.sample((os.rename, os.link, os.symlink, os.replace), 2):
                try:
                    act(a, random.choice((b, os.path.join(os.path.dirname(b), b"r%d" % random.randrange(9)))))
                except OSError:
                    pass
            seen.add(content(b))
            if time.time() > end:
                break
    return seen - {None}


if way == "roam":
    print("began", flush=True)
    for text in roam(float(os.environ.get("ROAM", "1"))):
        print("saw", text.hex())
    sys.exit()
for path in paths:
    can, text = "", None
    if way == "look":
        text = content(path)
        can = ("r" if text is not None else "") + ("w" if writable(path) else "")
    elif way == "make":
        can = "m" if made(path) else ""
    elif way == "take":
        can = "x" if replaced(path) else ""
    print("at", path.hex(), can or "-", (text or b"").hex() or "-", flush=True)
