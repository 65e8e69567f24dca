package script

import (
	"fmt"
	"slices"
	"strings"
)

// Object is an object in a file of another form that has steps in it, such as a playbook. [ReadObject] and [WriteObject] walk over one: each method is a
// key of it, in the order in which it is written.
type Object struct{ o *object }

// ReadObject reads an object as strictly as [ParseFile] reads a file, placeholders in its steps included. The error is an [*Error]; [PathTo] says
// which value it is about.
func ReadObject(data []byte, shape func(Object)) error {
	return parseText(string(data), MaxObject, func(o *object) { shape(Object{o}) }, templated)
}

// WriteObject is the JSON of an object. The error says what that of [ReadObject] for the same object says, behind the way to the object or step
// that is wrong, such as threads[0].match.
func WriteObject(shape func(Object)) ([]byte, error) {
	b, err := write(func(o *object) { shape(Object{o}) })
	if err == nil {
		err = tooLong(len(b), MaxObject)
	}
	if err != nil {
		if err.where != "" {
			err.behind(err.where[len("."):] + ": ")
		}
		err.where = ""
		return nil, err
	}
	return b, nil
}

// Reading is whether it is read.
func (o Object) Reading() bool { return o.o.mode == parsing }

// Fail says what is wrong with a key, or with the whole where key is "".
func (o Object) Fail(key, format string, args ...any) { o.o.fail(key, format, args...) }

// Needs says that one of these keys must be there.
func (o Object) Needs(keys ...string) {
	there := func(key string) bool {
		return o.o.member(key) != nil || o.o.mode == writing && slices.Contains(o.o.written, key)
	}
	switch {
	case o.o.mode == describing || slices.ContainsFunc(keys, there):
	case o.o.mode == writing:
		o.o.fail("", "needs %s", either(keys))
	case o.o.val.first() == '{' && o.o.missing == nil: // an unknown key says it better
		o.o.missing = &Error{Reason: "needs " + either(keys), Offset: o.o.val.pos}
	}
}

// Text is a text that is not empty, where there is one.
func (o Object) Text(dst *string, key string) { o.o.text(dst, key, filled, "") }

// Number is a whole number, 0 or more, which must be there.
func (o Object) Number(dst *int, key string) { o.o.number(dst, key, must, 0, "") }

// Inner is an object that must be there.
func (o Object) Inner(key string, shape func(Object)) {
	switch walk := func(o *object) { shape(Object{o}) }; o.o.mode {
	case parsing:
		if v, ok := o.o.take(key, must, "an object", isAny); ok {
			o.o.err = parse(v, walk)
		}
	case writing:
		if b, err := write(walk); err == nil {
			o.o.put(key, must, b)
		} else if o.o.err == nil {
			o.o.err = err.inside("." + key)
		}
	case describing:
		o.o.add(key, must, "", nil)
	}
}

// List is an array of objects, which must be there.
func List[S any](o Object, dst *[]S, key string, shape func(*S, Object)) {
	walk := func(s *S) func(*object) { return func(o *object) { shape(s, Object{o}) } }
	array(o.o, dst, key, must, "", element[S]{
		schema: func(*description) schema { return nil },
		read:   func(v value, s *S) *Error { return parse(v, walk(s)) },
		write:  func(s *S) ([]byte, *Error) { return write(walk(s)) },
	})
}

// Batches are arrays of steps in an array, which must be there. A step that is {"tool", "arguments", "id", "server"} is the call of a tool: an
// [MCPStep] with Report.
func Batches[B ~[]Step](o Object, dst *[]B, key string) {
	array(o.o, dst, key, must, "", element[B]{
		schema: func(*description) schema { return nil },
		read: func(v value, batch *B) *Error {
			if v.first() != '[' {
				return &Error{Reason: "a batch must be an array of steps, is " + v.excerpt(), Offset: v.pos}
			}
			v.depth++
			defer func() { v.depth-- }()
			steps := make([]Step, v.length())
			one, i := callOrStep(&steps), 0
			for e := range v.elements {
				if err := one.read(e, &steps[i]); err != nil {
					return alone(err)
				}
				i++
			}
			*batch = steps
			return nil
		},
		write: func(batch *B) ([]byte, *Error) {
			steps := []Step(*batch)
			if depth(steps) > deepest {
				return nil, &Error{Reason: fmt.Sprintf(tooNested, deepest)}
			}
			one, out := callOrStep(&steps), []byte{'['}
			for i := range steps {
				b, err := one.write(&steps[i])
				if err != nil {
					return nil, alone(err).inside(fmt.Sprintf("[%d]", i))
				}
				if i > 0 {
					out = append(out, ',')
				}
				out = append(out, b...)
			}
			return append(out, ']'), nil
		},
	})
}

// callOrStep is what a batch holds.
func callOrStep(steps *[]Step) element[Step] {
	return inPlace(steps, false, element[Step]{read: readCallOrStep, write: writeCallOrStep})
}

// alone is an error that does not stand behind the number of a step.
func alone(err *Error) *Error {
	err.Reason = strings.TrimLeft(err.Reason, ": ")
	return err
}

// bareCall is a call that stands for itself.
type bareCall MCPStep

func (c *bareCall) shape(o *object) {
	o.server(&c.Server)
	(*MCPStep)(c).call(o)
}

// readCallOrStep reads a step of a batch.
func readCallOrStep(v value, dst *Step) *Error {
	if v.first() != '{' {
		return readStep(v, dst)
	}
	keys := v.members(nil)
	var tool *member
	for i := range keys {
		if keys[i].key == "tool" {
			tool = &keys[i]
		}
	}
	switch {
	case tool != nil && (len(keys) > 1 || tool.first() != '{'):
	case len(keys) != 1:
		return &Error{Reason: "must be a call, with a tool, or a step with exactly one key; has " + names(keys), Offset: v.pos}
	default:
		return readStep(v, dst)
	}
	v.holes = nil
	c := bareCall{Report: true}
	if err := parse(v, c.shape); err != nil {
		return err
	}
	*dst = MCPStep(c)
	if v.holes != nil {
		t := templateOf(*dst, v)
		t.json = reporting + t.json[len("{"):]
		*dst = t
	}
	return nil
}

// reporting is how what stands behind the key of an mcp step begins that was a bare call.
const reporting = `{"report":true,`

func writeCallOrStep(s *Step) ([]byte, *Error) {
	template, filled := (*s).(TemplateStep)
	step := *s
	if filled {
		step = template.bare
	}
	if c, ok := step.(MCPStep); ok && c.Report && c.Server != "*" && c.Row == nil && c.Then == nil && c.Else == nil {
		if text, ok := strings.CutPrefix(template.json, reporting); ok {
			return []byte("{" + text), nil
		} else if !filled {
			return write((*bareCall)(&c).shape)
		}
	}
	return writeStep(s)
}

// ErrorAt is an [*Error] about a place in a text, in bytes from its beginning.
func ErrorAt(data []byte, offset int, reason string) error {
	return (&Error{Reason: reason, Offset: offset}).located(string(data))
}

// PathTo is the way to the innermost value of a text that begins at a place, or whose name does, such as threads[0].match. "" is the whole, or
// a place in what is no JSON.
func PathTo(data []byte, offset int) (path string) {
	v, err := open(string(data), MaxObject)
	if err != nil {
		return ""
	}
	for v.pos != offset {
		inner, step := value{}, ""
		switch v.first() {
		case '{':
			for _, m := range v.members(nil) {
				if m.keyPos <= offset && offset < m.end {
					inner, step = m.value, "."+m.key
				}
			}
		case '[':
			i := 0
			for e := range v.elements {
				if e.pos <= offset && offset < e.end {
					inner, step = e, fmt.Sprintf("[%d]", i)
				}
				i++
			}
		}
		if step == "" {
			break
		}
		v, path = inner, path+step
	}
	return strings.TrimPrefix(path, ".")
}
