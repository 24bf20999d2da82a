package launch

import "unsafe"

// Step is one system call.
type Step struct {
	Number uint64
	Args   [6]uint64
	// In names for each argument the register whose value it is; 0 for none.
	In [6]uint16
	// Out is the register that gets the result; 0 for none.
	Out uint16
	// Skip is how many of the following steps are left out when the call fails
	// and Optional is set. Otherwise the failure of a call is fatal.
	Skip     uint8
	Optional uint8
	// Note is the offset of the words that tell a failure.
	Note uint64
}

// Store, in the place of a call's number, writes the low 32 bits of the second
// argument to the address in the first: for structures that hold descriptors.
const Store = 1<<63 - 1

// header is the beginning of a program as it is passed on. Offsets count from
// the first byte; every word in a list of pointers is an offset, too, until the
// launcher adds the address.
type header struct {
	Magic     uint64
	Size      uint64
	Clone     uint64 // flags; 0 runs the list and the program in the launcher itself
	Terminal  uint64 // 1 makes standard input the controlling terminal
	Registers uint64
	Steps     uint64
	StepCount uint64
	Pointers  uint64 // positions of pointers
	PtrCount  uint64
	Argv      uint64 // NUL-terminated strings, one behind the other
	ArgCount  uint64
	Env       uint64 // what is set in the environment, likewise
	EnvCount  uint64
	Inherit   uint64 // how many files the command gets beside the standard ones
}

// FirstFile is the descriptor of the first file behind the program.
const FirstFile = programFD + 1

const magic = 0x314e55524652454b // KERFRUN1

const (
	headerSize = uint64(unsafe.Sizeof(header{}))
	stepSize   = uint64(unsafe.Sizeof(Step{}))
)

// Program is what a launcher does. The zero value is an empty one.
type Program struct {
	// Clone are the namespaces of the first process, as flags of clone(2). With
	// none the launcher confines itself and becomes the command.
	Clone uint64
	// Terminal says that standard input becomes the controlling terminal.
	Terminal bool
	// Inherit is how many files the command gets, as descriptors 3 and up.
	Inherit int
	Argv    []string
	Env     []string // set over what the launcher's own environment has

	steps     []Step
	data      []byte
	pointers  []uint64 // positions in data that hold offsets in data
	args      [][2]int // step and argument that hold offsets in data
	registers uint16
	note      string // of the last step
	noteAt    uint64
}

// usualSteps and usualData are what a program has room for at once: as much as most need, so that
// it does not grow step by step.
const usualSteps, usualData = 768, 48 << 10

// Call adds a step and returns it for changes until the next Call. Arguments are
// numbers (int, uint64, uintptr), strings, byte slices (passed by address), Reg
// values and Ref values; nil is 0.
func (p *Program) Call(note string, number uint64, args ...any) *Step {
	if p.steps == nil {
		p.steps, p.data = make([]Step, 0, usualSteps), append(make([]byte, 0, usualData), p.data...)
		p.args = make([][2]int, 0, usualSteps)
	}
	if note != p.note || len(p.steps) == 0 { // steps that follow each other often have one
		p.note, p.noteAt = note, p.text(note)
	}
	s := Step{Number: number, Note: p.noteAt}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
		case int:
			s.Args[i] = uint64(v)
		case uint64:
			s.Args[i] = v
		case uintptr:
			s.Args[i] = uint64(v)
		case Reg:
			s.In[i] = uint16(v)
		case string:
			s.Args[i] = p.text(v)
			p.args = append(p.args, [2]int{len(p.steps), i})
		case []byte:
			s.Args[i] = p.bytes(v)
			p.args = append(p.args, [2]int{len(p.steps), i})
		case Ref:
			s.Args[i] = uint64(v)
			p.args = append(p.args, [2]int{len(p.steps), i})
		default:
			panic("launch: an argument of an unknown type")
		}
	}
	p.steps = append(p.steps, s)
	return &p.steps[len(p.steps)-1]
}

// Len is the number of steps so far.
func (p *Program) Len() int { return len(p.steps) }

// Reg is a register; Keep makes one for the result of a step.
type Reg uint16

// Keep stores the result of s in a new register.
func (p *Program) Keep(s *Step) Reg {
	p.registers++
	s.Out = p.registers
	return Reg(p.registers)
}

// Ref is the place of something in the program's data.
type Ref uint64

// Data places b, aligned to 8 bytes.
func (p *Program) Data(b []byte) Ref { return Ref(p.bytes(b)) }

// Point makes the word at an offset of a place an address of another place.
func (p *Program) Point(at Ref, offset uint64, to Ref) {
	position := uint64(at) + offset
	*(*uint64)(unsafe.Pointer(&p.data[position])) = uint64(to)
	p.pointers = append(p.pointers, position)
}

//go:noinline
func (p *Program) text(s string) uint64 {
	at := p.bytes(nil)
	p.data = append(append(p.data, s...), 0)
	return at
}

//go:noinline
func (p *Program) bytes(b []byte) uint64 {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	at := uint64(len(p.data))
	p.data = append(p.data, b...)
	return at
}

// At is the place at an offset of another.
func (r Ref) At(offset uint64) Ref { return r + Ref(offset) }

// Encode returns the program as a launcher reads it.
func (p *Program) Encode() []byte {
	strings := func(list []string) uint64 {
		at := p.bytes(nil)
		for _, s := range list {
			p.data = append(append(p.data, s...), 0)
		}
		return at
	}
	argv, env := strings(p.Argv), strings(p.Env)
	steps := headerSize
	pointers := steps + uint64(len(p.steps))*stepSize
	data := pointers + uint64(len(p.pointers)+len(p.args))*8
	h := header{Magic: magic, Size: data + uint64(len(p.data)), Clone: p.Clone, Registers: uint64(p.registers) + 1,
		Steps: steps, StepCount: uint64(len(p.steps)), Pointers: pointers, PtrCount: uint64(len(p.pointers) + len(p.args)),
		Argv: data + argv, ArgCount: uint64(len(p.Argv)), Env: data + env, EnvCount: uint64(len(p.Env))}
	h.Inherit = uint64(p.Inherit)
	if p.Terminal {
		h.Terminal = 1
	}
	positions := make([]uint64, 0, h.PtrCount)
	for _, at := range p.pointers {
		*(*uint64)(unsafe.Pointer(&p.data[at])) += data
		positions = append(positions, data+at)
	}
	for _, a := range p.args {
		p.steps[a[0]].Args[a[1]] += data
		positions = append(positions, steps+uint64(a[0])*stepSize+8+uint64(a[1])*8)
	}
	for i := range p.steps {
		p.steps[i].Note += data
	}
	out := make([]byte, 0, h.Size)
	out = append(out, unsafe.Slice((*byte)(unsafe.Pointer(&h)), headerSize)...)
	if len(p.steps) > 0 {
		out = append(out, unsafe.Slice((*byte)(unsafe.Pointer(&p.steps[0])), uint64(len(p.steps))*stepSize)...)
	}
	if len(positions) > 0 {
		out = append(out, unsafe.Slice((*byte)(unsafe.Pointer(&positions[0])), len(positions)*8)...)
	}
	return append(out, p.data...)
}
