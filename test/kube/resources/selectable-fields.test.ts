import t from 'tap'
import {
  anySchema,
  metadataFields,
  selectableFields,
} from '../../../lib/kube/resources/selectable-fields.ts'

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        color: { type: 'string' },
        on: { type: 'boolean' },
        size: { type: 'integer' },
        port: { 'x-kubernetes-int-or-string': true },
        weight: { type: 'number' },
        'a.b': { type: 'string' },
        list: { type: 'array' },
      },
    },
  },
}

function read(paths: readonly string[], of: unknown = schema): unknown {
  const declared = paths.map(jsonPath => ({ jsonPath }))
  const { fields, problems } = selectableFields(declared, of)
  return [fields.map(({ label, paths }) => `${label}=${paths.join()}`), problems]
}

t.test('names and namespaces can always be selected', async t => {
  const name = { label: 'metadata.name', paths: ['metadata.name'], fallback: '' }
  t.strictSame(metadataFields(false), [name])
  t.strictSame(metadataFields(true), [
    name,
    { label: 'metadata.namespace', paths: ['metadata.namespace'], fallback: '' },
  ])
})

t.test('a declared field is read by its path, if the schema has it as a plain value', async t => {
  const paths = ['.spec.color', '.spec.on', '.spec.size', '.spec.port', ".spec['a.b']"]
  t.strictSame(read(paths), [
    [
      'spec.color=spec.color',
      'spec.on=spec.on',
      'spec.size=spec.size',
      'spec.port=spec.port',
      String.raw`spec['a.b']=spec.a\.b`,
    ],
    [],
  ])
  t.strictSame(read(['.any.thing'], anySchema), [['any.thing=any.thing'], []])
})

t.test('what cannot be selected by is left out, with the reason', async t => {
  const notNames = 'the path must be names that follow dots, without arrays'
  const notPlain = 'it must be a string, a boolean or an integer'
  for (const [path, reason] of [
    ['', notNames],
    ['spec.color', notNames],
    ['.', notNames],
    ['.spec[0]', notNames],
    ['.spec.', notNames],
    ["['spec']", notNames],
    ['.metadata.name', 'it must not point to fields in metadata'],
    ['.spec.none', 'the schema has no such field'],
    ['.status.color', 'the schema has no such field'],
    ['.spec.weight', notPlain],
    ['.spec.list', notPlain],
    ['.spec', notPlain],
  ] as const) {
    const shown = path === '' ? '(no path)' : path
    t.strictSame(read([path]), [[], [`selectable field ${shown} is ignored: ${reason}`]])
  }
  t.strictSame(read(['.spec.on', ".spec['on']"]), [
    ['spec.on=spec.on'],
    ["selectable field .spec['on'] is ignored: it is a duplicate"],
  ])
  const nine = Array.from({ length: 9 }, (_, i) => `.a${i}`)
  t.strictSame(read(nine, anySchema), [
    nine.slice(0, 8).map(path => `${path.slice(1)}=${path.slice(1)}`),
    ['selectable field .a8 is ignored: there may be at most 8'],
  ])
})
