import t from 'tap'
import { Template } from '../../../lib/simulator/templates/template.ts'

const pod = {
  metadata: { name: 'web', annotations: { a: 'x' } },
  spec: {
    containers: [
      { name: 'one', image: 'i:1' },
      { name: 'two', image: 'i:2' },
    ],
  },
  status: { replicas: 3, map: { b: 2, a: 1 } },
}

const given = { Now: () => 'now', Join: (...args: readonly unknown[]) => args.join('+') }

function rendered(text: string): string {
  return new Template(text, new Set(Object.keys(given))).render(pod, given)
}

/** The texts that Go's text/template prints of them, with sprig's functions and kwok's. */
const rows: readonly (readonly [template: string, text: string])[] = [
  ['plain', 'plain'],
  ['{{ .metadata.name }}', 'web'],
  ['{{ .metadata.nothing }}', '<no value>'],
  ['{{ .metadata.nothing.more }}', '<no value>'],
  ['a {{- /* no */ -}} b', 'ab'],
  ['a {{- .metadata.name -}} b', 'awebb'],
  ['{{ if .metadata.name }}yes{{ else }}no{{ end }}', 'yes'],
  ['{{ if .nothing }}yes{{ else if .spec }}other{{ end }}', 'other'],
  ['{{ with .metadata }}{{ .name }}{{ end }}', 'web'],
  ['{{ with .nothing }}a{{ else }}{{ .metadata.name }}{{ end }}', 'web'],
  ['{{ range .spec.containers }}[{{ .name }}]{{ end }}', '[one][two]'],
  [
    '{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }}{{ $.metadata.name }} {{ end }}',
    '0oneweb 1twoweb ',
  ],
  ['{{ range .nothing }}a{{ else }}none{{ end }}', 'none'],
  ['{{ range $k, $v := .status.map }}{{ $k }}={{ $v }};{{ end }}', 'a=1;b=2;'],
  ['{{ range .spec.containers }}{{ .name }}{{ break }}{{ end }}', 'one'],
  ['{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}', '2'],
  ['{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}', '1'],
  ['{{ or .nothing "a" }}{{ and .metadata "b" }}', 'ab'],
  ['{{ or .nothing Now }}', 'now'],
  ['{{ printf "%s-%03d %v %q" .metadata.name 7 true "q" }}', 'web-007 true "q"'],
  ['{{ index .metadata.annotations "a" }}', 'x'],
  ['{{ eq .metadata.name "a" "web" }}{{ ne 1 1 }}{{ lt 1 2 }}{{ ge 2 2 }}', 'truefalsetruetrue'],
  ['{{ not .nothing }}{{ len .spec.containers }}', 'true2'],
  ['{{ .metadata.name | Quote }} {{ 5 | Quote }}', '"web" "5"'],
  ['{{ .metadata.name | upper | quote }}', '"WEB"'],
  ['{{ dict "__proto__" (dict "a" 1) "b" 2 | toJson }}', '{"__proto__":{"a":1},"b":2}'],
  ['{{ (dict "__proto__" (dict "a" 1)).a }}', '<no value>'],
  [
    '{{ merge (dict "b" 2) (dict "__proto__" (dict "a" 1)) | toJson }}',
    '{"__proto__":{"a":1},"b":2}',
  ],
  ['{{ set (dict "b" 2) "__proto__" 1 | toJson }}', '{"b":2,"__proto__":1}'],
  ['{{ get (dict) "constructor" }}|{{ hasKey (dict) "toString" }}', '|false'],
  ['{{ default "d" .nothing }}{{ dict "a" 1 "b" 2 }}{{ list 1 2 }}', 'dmap[a:1 b:2][1 2]'],
  ['x:{{ YAML .status.map 1 }}', 'x:\n  a: 1\n  b: 2\n  '],
  ['{{ Join 1 "a" (add 1 2) }}', '1+a+3'],
  ['{{ `raw "text"` }}{{ "a\\tb" }}', 'raw "text"a\tb'],
  [
    '{{ trimSuffix "b" "web" }}{{ replace "e" "o" "web" }}{{ join "," (list "a" "b") }}',
    'wewoba,b',
  ],
  ['{{ sha256sum "a" | trunc 8 }}', 'ca978112'],
  ['{{ nindent 2 "a\\nb" }}', '\n  a\n  b'],
  ['{{ ternary "y" "n" (hasKey .metadata "name") }}', 'y'],
]

t.test('templates print what they print in Go', async t => {
  for (const [template, text] of rows) {
    t.equal(rendered(template), text, template)
  }
})

const problems: readonly (readonly [template: string, problem: RegExp])[] = [
  ['{{ nothing 1 }}', /function "nothing" not defined/],
  ['{{ $x }}', /undefined variable "\$x"/],
  ['{{ if .a }}', /unexpected EOF/],
  ['{{ end }}', /unexpected \{\{end\}\}/],
  ['{{ .a', /unclosed action/],
  ['{{ template "x" }}', /\{\{template\}\} is not understood here/],
  ['{{ index .nothing 1 }}', /index of untyped nil/],
  ['{{ index .spec.containers 7 }}', /index out of range: 7/],
  ['{{ .metadata.name.more }}', /can't evaluate field more in type string/],
  ['{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}', /too many steps/],
  ['{{ repeat 1000000 "long" }}', /too long/],
]

t.test('a template that cannot be used says why', async t => {
  for (const [template, problem] of problems) {
    t.throws(() => rendered(template), { message: problem }, template)
  }
})

t.test('what grows with each step ends in a problem, and soon', async t => {
  const forty = (text: string): string => `{{ range until 40 }}${text}{{ end }}`
  const texts = [
    `{{ $a := "xxxxxxxx" }}${forty('{{ $a = print $a $a }}')}`,
    `{{ $a := dict "a" 1 }}${forty('{{ $a = dict "a" $a "b" $a }}')}{{ toJson $a }}`,
    `{{ $a := list 1 }}${forty('{{ $a = list $a $a }}')}{{ $a }}`,
    '{{ $a := dict }}{{ range until 5000 }}{{ $a = dict "a" $a }}{{ end }}{{ $a }}',
    '{{ $a := repeat 100000 "a" }}{{ replace "a" $a $a }}',
    '{{ $a := repeat 100000 "a" }}{{ join $a (until 100000) }}',
    '{{ $a := repeat 100000 "\\n" }}{{ indent 1000 $a }}',
    '{{ range until 50000 }}{{ $a := until 100000 }}{{ end }}',
    '{{ $a := repeat 100000 "a" }}{{ range until 50000 }}{{ $b := sha256sum $a }}{{ end }}',
    '{{ $a := until 100000 }}{{ range until 50000 }}{{ range $a }}{{ break }}{{ end }}{{ end }}',
  ]
  const message = /a value is too large|too much work|more than 100000/
  for (const text of texts) t.throws(() => rendered(text), { message }, text)
})
