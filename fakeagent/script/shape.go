package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// shaper declares the JSON form of its type.
type shaper interface{ shape(*object) }

// kind is a step's key and how to read what stands behind it.
type kind struct {
	key, doc string
	read     func(*object) Step
	shape    func(*object)
}

func kindOf[S Step, P interface {
	*S
	shaper
}](doc string) kind {
	var zero S
	return kind{
		key: zero.Key(), doc: doc,
		read:  func(o *object) Step { s := new(S); P(s).shape(o); return *s },
		shape: func(o *object) { P(new(S)).shape(o) },
	}
}

// flags of a field.
type flags uint8

const (
	must     flags = 1 << iota // required
	short                      // may stand alone in place of the object
	filled                     // not ""
	verbatim                   // a text in which nothing is a placeholder
	outmost                    // steps that do not stand inside a step
)

const anyNumber = math.MinInt

// object is one walk over a shape: it parses into the fields, writes from them, or describes them.
type object struct {
	mode mode
	err  *Error // the first one; the walk goes on without effect

	// parsing
	val     value
	alone   bool // val stands in place of the object, and no field has taken it yet
	members []member
	short   string // what the short field takes
	missing *Error // the first required field that is not there; an unknown key says it better

	*output      // when writing
	*description // when describing
}

// output is what a walk has written.
type output struct {
	out     []byte
	written []string
	only    []byte // the short field's value, as long as it is the only one
}

type mode uint8

const (
	parsing mode = iota
	writing
	describing
)

// fail records what is wrong with a field, unless something was wrong before.
func (o *object) fail(key, format string, args ...any) {
	if o.mode == describing || o.err != nil {
		return
	}
	o.err = &Error{Reason: strings.TrimSpace(key + " " + fmt.Sprintf(format, args...)), Offset: o.val.pos}
	if m := o.member(key); m != nil {
		o.err.Offset = m.pos
	}
}

func (o *object) member(key string) *member {
	for i := range o.members {
		if o.members[i].key == key {
			return &o.members[i]
		}
	}
	return nil
}

// parse walks a shape over v, which is an object or what the short field takes.
func parse(v value, walk func(*object)) *Error {
	o := v.begin()
	walk(o)
	return o.finish(walk)
}

func (v value) begin() *object {
	var o *object
	if n := len(v.free); n > 0 {
		o, v.free = v.free[n-1], v.free[:n-1]
	} else {
		o = &object{}
	}
	*o = object{val: v, alone: v.first() != '{', members: o.members[:0]}
	if o.alone {
		return o
	}
	o.members = v.members(o.members)
	for i, m := range o.members {
		for _, earlier := range o.members[:min(i, 100)] { // no shape has so many keys: one further on is unknown if it is not there
			if m.key == earlier.key {
				o.err = &Error{Reason: fmt.Sprintf("key %q stands there twice", excerpt(m.key)), Offset: m.keyPos}
				return o
			}
		}
	}
	return o
}

// finish says what is wrong after the walk. The object is used again.
func (o *object) finish(walk func(*object)) *Error {
	defer func() { o.val.free = append(o.val.free, o) }()
	if o.err != nil {
		return o.err
	}
	if o.alone {
		want := o.short + ", or an object"
		if o.short == "" {
			known := object{mode: describing, description: &description{}}
			walk(&known)
			want = strings.TrimSuffix("an object with "+strings.Join(known.required, " and "), " with ")
		}
		return &Error{Reason: "must be " + want + ", is " + o.val.excerpt(), Offset: o.val.pos}
	}
	for _, m := range o.members {
		if !m.taken {
			known := object{mode: describing, description: &description{}}
			walk(&known)
			return &Error{Reason: unknownKey(m.key, known.keys), Offset: m.keyPos}
		}
	}
	return o.missing
}

// take is the value of a field, if it is there, is known and begins as it should.
func (o *object) take(key string, f flags, want, begin string) (value, bool) {
	if o.err != nil {
		return value{}, false
	}
	v := o.val
	if v.first() != '{' {
		if f&short == 0 {
			return value{}, false
		}
		o.short = want
		if !o.alone || strings.IndexByte(begin, v.first()) < 0 && !v.stands(begin) {
			return value{}, false
		}
		o.alone = false
	} else {
		m := o.member(key)
		if m == nil {
			if f&must != 0 && o.missing == nil {
				o.missing = &Error{Reason: key + " is missing", Offset: o.val.pos}
			}
			return value{}, false
		}
		m.taken = true
		v = m.value
	}
	if strings.IndexByte(begin, v.first()) >= 0 {
		return v, true
	}
	if v.stands(begin) {
		if !v.filling() {
			v.holes = append(v.holes, holesIn(v.string())...) // it is not known yet
			return value{}, false
		}
		var err error
		if v, err = v.insert(begin); err != nil {
			o.unfilled(key, err)
			return value{}, false
		}
		if strings.IndexByte(begin, v.first()) >= 0 {
			return v, true
		}
	}
	o.fail(key, "must be %s, is %s", want, v.excerpt())
	return value{}, false
}

// unfilled records that there is no value for a placeholder.
func (o *object) unfilled(key string, err error) {
	o.fail("", "%s: %v", key, err)
	o.err.cause = err
}

// put writes a field.
func (o *object) put(key string, f flags, raw []byte) {
	if o.only = nil; len(o.written) > 0 {
		o.out = append(o.out, ',')
	} else if f&short != 0 {
		o.only = raw
	}
	o.out = append(append(append(o.out, '"'), key...), '"', ':')
	o.out = append(o.out, raw...)
	o.written = append(o.written, key)
}

// write is the JSON form of a shape: an object, or the short field's value if nothing else is to be said.
func write(walk func(*object)) ([]byte, *Error) {
	o := object{mode: writing, output: &output{}}
	walk(&o)
	if o.err != nil || o.only != nil {
		return o.only, o.err
	}
	return append(append([]byte{'{'}, o.out...), '}'), nil
}

const (
	isString = `"`
	isNumber = "-0123456789"
	isFlag   = "tf"
	isArray  = "["
	isObject = "{"
	isAny    = `"-0123456789tfn[{`
)

// knownText is a string where placeholders may be. One that has some is not known until they are filled.
func (o *object) knownText(v value, key string) (string, bool) {
	text := v.string()
	if !hasPlaceholder(text) {
		return text, true
	}
	if !v.filling() {
		v.holes = append(v.holes, holesIn(text)...)
		return "", false
	}
	text, err := v.fillText(text)
	if err != nil {
		o.unfilled(key, err)
	}
	return text, err == nil
}

// knownJSON is the same for any JSON.
func (o *object) knownJSON(v value, key string) ([]byte, bool) {
	if !v.filling() {
		holes := v.holesIn()
		v.holes = append(v.holes, holes...)
		return []byte(v.raw()), holes == nil
	}
	raw, err := v.fillJSON()
	if err != nil {
		o.unfilled(key, err)
	}
	return raw, err == nil
}

// text says whether there is one, and it is known.
func (o *object) text(dst *string, key string, f flags, doc string) (there bool) {
	switch o.mode {
	case parsing:
		v, ok := o.take(key, f, "a string", isString)
		if !ok {
			return false
		}
		if !v.templated() || f&verbatim != 0 {
			*dst = v.string()
		} else if *dst, ok = o.knownText(v, key); !ok {
			return false
		}
	case writing:
		if *dst == "" && f&must == 0 {
			return false
		}
		if !utf8.ValidString(*dst) {
			o.fail(key, "is not valid UTF-8, which JSON could not carry: %.40q", *dst)
			return false
		}
		o.put(key, f, encoded(*dst))
	case describing:
		o.add(key, f, doc, schema{"type": "string"}.with(f&filled != 0, "minLength", 1))
		return false
	}
	if f&filled != 0 && *dst == "" {
		o.fail(key, "must not be empty")
	}
	return true
}

func (o *object) number(dst *int, key string, f flags, least int, doc string) {
	o.within(dst, key, f, least, math.MaxInt, doc)
}

// within is a number that has a largest value too.
func (o *object) within(dst *int, key string, f flags, least, most int, doc string) {
	const want = "a whole number"
	switch o.mode {
	case parsing:
		v, ok := o.take(key, f, want, isNumber)
		if !ok {
			return
		}
		n, ok := v.whole()
		if !ok || n != int64(int(n)) {
			o.fail(key, "must be %s, is %s", want, v.excerpt())
			return
		}
		*dst = int(n)
	case writing:
		if *dst == 0 && f&must == 0 {
			return
		}
		o.put(key, f, strconv.AppendInt(nil, int64(*dst), 10))
	case describing:
		o.add(key, f, doc, schema{"type": "integer"}.with(least != anyNumber, "minimum", least).with(most != math.MaxInt, "maximum", most))
		return
	}
	switch {
	case *dst < least:
		o.fail(key, "must be %d or more, is %d", least, *dst)
	case *dst > most:
		o.fail(key, "must be %d or less, is %d", most, *dst)
	}
}

// longest is about as long as a time.Duration can be.
const longest = math.MaxInt64 / int64(time.Millisecond)

func (o *object) millis(dst *time.Duration, key string, f flags, doc string) {
	o.duration(dst, key, f, 0, "in milliseconds: "+doc)
}

// duration is a time of at least so many milliseconds, or none where it is left out.
func (o *object) duration(dst *time.Duration, key string, f flags, least int64, doc string) {
	want := "a whole number of milliseconds, 0 or more"
	if least == 1 {
		want = "a whole number of milliseconds, 1 or more"
	}
	switch o.mode {
	case parsing:
		v, ok := o.take(key, f, want, isNumber)
		if !ok {
			return
		}
		n, ok := v.whole()
		if !ok || n < least || n > longest {
			o.fail(key, "must be %s, is %s", want, v.excerpt())
			return
		}
		*dst = time.Duration(n) * time.Millisecond
	case writing:
		if *dst < 0 || *dst%time.Millisecond != 0 {
			o.fail(key, "must be %s, is %v", want, *dst)
			return
		}
		if *dst != 0 || f&must != 0 {
			o.put(key, f, strconv.AppendInt(nil, dst.Milliseconds(), 10))
		}
	case describing:
		o.add(key, f, doc, schema{"type": "integer", "minimum": least, "maximum": longest})
	}
}

// timeout is how long a step waits at most.
func (o *object) timeout(dst *time.Duration, byDefault time.Duration) {
	doc := ""
	if o.mode == describing {
		doc = fmt.Sprintf("how long it waits, in milliseconds, %d by default", byDefault.Milliseconds())
	}
	o.duration(dst, "timeoutMs", 0, 1, doc)
}

// trueAlone is an object in whose place true may stand.
func (o *object) trueAlone() {
	switch {
	case o.mode == describing:
		o.instead = schema{"const": true}
	case o.mode == parsing:
		o.short = "true"
		o.alone = o.alone && o.val.raw() != "true"
	case len(o.written) == 0:
		o.only = []byte("true")
	}
}

func (o *object) flag(dst *bool, key, doc string) {
	switch o.mode {
	case parsing:
		if v, ok := o.take(key, 0, "true or false", isFlag); ok {
			*dst = v.first() == 't'
		}
	case writing:
		if *dst {
			o.put(key, 0, []byte("true"))
		}
	case describing:
		o.add(key, 0, doc, schema{"type": "boolean"})
	}
}

// json is any JSON, or any object. Null is as good as absent.
func (o *object) json(dst *json.RawMessage, key, doc string, isObj bool) {
	want, begin := "any JSON", isAny
	if isObj {
		want, begin = "an object", isObject
	}
	switch o.mode {
	case parsing:
		v, ok := o.take(key, 0, want, begin)
		if !ok {
			return
		}
		raw := []byte(v.raw())
		if v.templated() {
			raw, ok = o.knownJSON(v, key)
		}
		if ok && raw[0] != 'n' {
			if *dst = raw; !v.filling() { // which is compact
				*dst = compact(raw)
			}
		}
	case writing:
		if len(*dst) == 0 {
			return
		}
		var b bytes.Buffer
		if err := json.Compact(&b, *dst); err != nil {
			o.fail(key, "is no JSON (%v): %.60s", err, *dst)
		} else if isObj && b.Bytes()[0] != '{' {
			o.fail(key, "must be an object, is %.40s", b.Bytes())
		} else {
			o.put(key, 0, b.Bytes())
		}
	case describing:
		o.add(key, 0, doc, schema{}.with(isObj, "type", "object"))
	}
}

func (o *object) choice(dst *string, key, doc string, options ...string) {
	if o.mode == describing {
		o.add(key, 0, doc, o.choices(options))
	} else if o.text(dst, key, 0, "") && !slices.Contains(options, *dst) {
		o.fail(key, "must be %s, is %q", either(options), excerpt(*dst))
	}
}

func (o *object) words(dst *[]string, key, doc string, options ...string) {
	switch o.mode {
	case parsing:
		v, ok := o.take(key, 0, "an array", isArray)
		if !ok {
			return
		}
		for e := range v.elements {
			if e.first() != '"' {
				o.fail(key, "must hold %s, holds %s", either(options), e.excerpt())
				return
			}
			w, known := e.string(), true
			if e.templated() {
				w, known = o.knownText(e, key)
			}
			if known && !slices.Contains(options, w) {
				o.fail(key, "must hold %s, holds %q", either(options), excerpt(w))
			}
			if o.err != nil {
				return
			}
			if known {
				*dst = append(*dst, w)
			}
		}
	case writing:
		for _, w := range *dst {
			if !slices.Contains(options, w) {
				o.fail(key, "must hold %s, holds %q", either(options), excerpt(w))
			}
		}
		if len(*dst) > 0 {
			o.put(key, 0, encoded(*dst))
		}
	case describing:
		o.add(key, 0, doc, schema{"type": "array", "items": o.choices(options)})
	}
}

// apart says that two fields exclude each other.
func (o *object) apart(a, b string) {
	switch {
	case o.mode == describing:
		o.pairs = append(o.pairs, []string{a, b})
	case o.mode == parsing && o.member(a) != nil && o.member(b) != nil,
		o.mode == writing && slices.Contains(o.written, a) && slices.Contains(o.written, b):
		o.fail(a, "and %s exclude each other", b)
	}
}

// oneOf says that one of some fields must be there, and no other of them.
func (o *object) oneOf(keys ...string) {
	there := false
	for i, key := range keys {
		there = there || o.mode == parsing && o.member(key) != nil
		for _, other := range keys[i+1:] {
			o.apart(key, other)
		}
	}
	switch {
	case o.mode == describing:
		o.needs = append(o.needs, keys)
	case o.mode == parsing && o.val.first() == '{' && !there && o.missing == nil:
		o.missing = &Error{Reason: "needs " + either(keys), Offset: o.val.pos}
	}
}

// element is what an array holds.
type element[S any] struct {
	name   string // in errors, before its number
	schema func(*description) schema
	read   func(value, *S) *Error
	write  func(*S) ([]byte, *Error)
}

// array is a field that holds a list. With filled it holds one element at least.
func array[S any](o *object, dst *[]S, key string, f flags, doc string, e element[S]) {
	in := func(i int, err *Error) {
		if o.err = err; e.name != "" {
			err.behind(e.name + " " + strconv.Itoa(i+1))
		} else if o.mode == writing {
			err.inside("." + key + "[" + strconv.Itoa(i) + "]")
		}
	}
	switch o.mode {
	case parsing:
		v, ok := o.take(key, f, "an array", isArray)
		if !ok {
			return
		}
		if n := v.length(); n > 0 {
			*dst = make([]S, n)
		}
		i := 0
		for item := range v.elements {
			if err := e.read(item, &(*dst)[i]); err != nil {
				in(i, err)
				return
			}
			i++
		}
	case writing:
		if len(*dst) == 0 && f&must == 0 || o.err != nil {
			return
		}
		raw := []byte{'['}
		for i := range *dst {
			b, err := e.write(&(*dst)[i])
			if err != nil {
				in(i, err)
				return
			}
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = append(raw, b...)
		}
		o.put(key, f, append(raw, ']'))
	case describing:
		o.add(key, f, doc, schema{"type": "array", "items": e.schema(o.description)}.with(f&filled != 0, "minItems", 1))
		return
	}
	if f&filled != 0 && len(*dst) == 0 {
		o.fail(key, "needs at least one %s", e.name)
	}
}

// deepest is how many branches may stand inside each other. Nobody needs as many, and each costs another look at what is inside.
const (
	deepest   = 20
	tooNested = "steps are nested more than %d deep"
)

func (o *object) steps(dst *[]Step, key string, f flags, doc string) {
	if o.mode == parsing {
		if o.val.depth++; o.val.depth > deepest {
			o.fail("", tooNested, deepest)
		}
		defer func() { o.val.depth-- }()
	}
	name := "step"
	if key != "steps" {
		name = key + " step"
	}
	array(o, dst, key, f, doc, inPlace(dst, f&outmost == 0, element[Step]{name, anyStep, readStep, writeStep}))
}

// inPlace are steps each of which stands where it may.
func inPlace(steps *[]Step, inside bool, e element[Step]) element[Step] {
	read, write := e.read, e.write
	misplaced := func(s *Step, offset int) *Error {
		switch (*s).Key() {
		case ExpectInputStep{}.Key():
			if inside || s != &(*steps)[0] {
				return &Error{Reason: ": expectInput must come first, and not inside another step", Offset: offset}
			}
		case AwaitSteerStep{}.Key():
			if inside || s != &(*steps)[len(*steps)-1] {
				return &Error{Reason: ": awaitSteer must come last, and not inside another step", Offset: offset}
			}
		}
		return nil
	}
	e.read = func(v value, s *Step) *Error {
		err := read(v, s)
		if err == nil {
			err = misplaced(s, v.pos)
		}
		return err
	}
	e.write = func(s *Step) ([]byte, *Error) {
		b, err := write(s)
		if err == nil {
			err = misplaced(s, 0)
		}
		return b, err
	}
	return e
}

func anyStep(*description) schema { return schema{"$ref": "#/$defs/step"} }

// shaped is an element that has a shape.
func shapedElement[S any, P interface {
	*S
	shaper
}](name string) element[S] {
	return element[S]{
		name:   name,
		schema: func(d *description) schema { return d.describe(P(new(S)).shape) },
		read:   func(v value, s *S) *Error { return parse(v, P(s).shape).behind(": ") },
		write: func(s *S) ([]byte, *Error) {
			b, err := write(P(s).shape)
			return b, err.behind(": ")
		},
	}
}

// list is an array of shaped objects.
func list[S any, P interface {
	*S
	shaper
}](o *object, dst *[]S, key string, f flags, doc, name string) {
	array(o, dst, key, f, doc, shapedElement[S, P](name))
}

// oneOrMore is a value that is one shaped object or an array of them.
func oneOrMore[S any, P interface {
	*S
	shaper
}](o *object, dst *[]S, name string) {
	switch {
	case o.mode == parsing && o.val.first() == '{':
		*dst = make([]S, 1)
		P(&(*dst)[0]).shape(o)
	case o.mode == writing && len(*dst) == 1:
		P(&(*dst)[0]).shape(o)
	case o.mode == describing:
		P(new(S)).shape(o) // an unknown key is near to one of these
		one := o.describe(P(new(S)).shape)
		o.whole = schema{"oneOf": []schema{one, {"type": "array", "items": one, "minItems": 1}}}
	default:
		list[S, P](o, dst, "", must|short|filled, "", name)
	}
}

// nested is a shaped object of its own, which is written if it is set. It says whether it was read.
func nested[S any, P interface {
	*S
	shaper
}](o *object, dst *S, set bool, key, doc string) (found bool) {
	switch o.mode {
	case parsing:
		v, ok := o.take(key, 0, "an object", isAny)
		if ok {
			o.err = parse(v, P(dst).shape).behind(key + ": ")
		}
		return ok
	case writing:
		if set && o.err == nil {
			b, err := write(P(dst).shape)
			o.err = err.behind(key + ": ")
			o.put(key, 0, b)
		}
	case describing:
		o.add(key, 0, doc, o.describe(P(new(S)).shape))
	}
	return false
}

// optional is nested where there may be none.
func optional[S any, P interface {
	*S
	shaper
}](o *object, dst **S, key, doc string) {
	s := *dst
	if s == nil {
		s = new(S)
	}
	if nested[S, P](o, s, *dst != nil, key, doc) {
		*dst = s
	}
}

func kindCalled(key string) *kind {
	for i := range kinds {
		if kinds[i].key == key {
			return &kinds[i]
		}
	}
	return nil
}

// parse reads what stands behind the key.
func (k *kind) parse(v value) (Step, *Error) {
	o := v.begin()
	s := k.read(o)
	return s, o.finish(k.shape)
}

func readStep(v value, dst *Step) *Error {
	if v.first() != '{' {
		return &Error{Reason: " must be an object with one key, is " + v.excerpt(), Offset: v.pos}
	}
	o := v.begin()
	defer func() { v.free = append(v.free, o) }()
	keys := o.members
	if len(keys) != 1 {
		return &Error{Reason: " must have exactly one key, has " + names(keys), Offset: v.pos}
	}
	k := kindCalled(keys[0].key)
	if k == nil {
		known := make([]string, len(kinds))
		for i, k := range kinds {
			known[i] = k.key
		}
		return &Error{Reason: ": " + unknownKey(keys[0].key, known), Offset: keys[0].keyPos}
	}
	around := v.holes // of the step that this one stands in
	v.holes = nil
	var err *Error
	if *dst, err = k.parse(keys[0].value); err != nil {
		return err.behind(" (" + k.key + "): ")
	}
	if v.holes != nil {
		*dst = templateOf(*dst, keys[0].value)
	}
	v.holes = around
	return nil
}

func names(keys []member) string {
	var quoted []string
	for _, m := range keys[:min(len(keys), 3)] {
		quoted = append(quoted, strconv.Quote(excerpt(m.key)))
	}
	switch {
	case len(keys) == 0:
		return "none"
	case len(keys) > 3:
		return strings.Join(quoted, ", ") + " and more"
	}
	return strings.Join(quoted, " and ")
}

func writeStep(step *Step) ([]byte, *Error) {
	s := *step
	if s == nil || reflect.TypeOf(s).Kind() == reflect.Pointer {
		return nil, &Error{Reason: fmt.Sprintf(" must be the value of a step, is %T", s)}
	}
	b, err := write(s.shaped().shape)
	if err != nil {
		return nil, err.behind(" (" + s.Key() + "): ")
	}
	return append(append(append([]byte(`{"`), s.Key()...), '"', ':'), append(b, '}')...), nil
}

// encoded is v as JSON, with <, > and & as they are.
func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings and lists of strings cannot fail
	return b.Bytes()[:b.Len()-1]
}
