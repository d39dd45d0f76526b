import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import {
  messageComputations,
  valueComputations,
} from '../../../lib/codec/served/stored/computations.ts'

const specials = new Set(
  (
    'string bool int32 int64 float64 bytes any json rawextension ' +
    'quantity time microtime intorstring fieldsv1'
  ).split(' '),
)

t.test('a kind leads to its message, and the message to its fields', async t => {
  const pod = schemaOf().findKind('v1', 'Pod')
  t.match(pod, { served: 'default', type: { name: 'core/v1.Pod', hasTypeMeta: true } })
  t.strictSame(
    pod?.type.fields.map(field => [field.jsonName, field.number, field.type]),
    [
      ['metadata', 1, 'meta/v1.ObjectMeta'],
      ['spec', 2, 'core/v1.PodSpec'],
      ['status', 3, 'core/v1.PodStatus'],
    ],
  )
  const labels = schemaOf()
    .messageType('meta/v1.ObjectMeta')
    .fields.find(field => field.jsonName === 'labels')
  t.match(labels, { container: 'map', type: 'string', isOmittedWhenEmpty: true, number: 11 })
})

t.test(
  'what the schema does not know is undefined, also when it looks like a property',
  async t => {
    for (const name of ['Pod2', 'toString', '__proto__', 'constructor']) {
      t.equal(schemaOf().findKind('v1', name), undefined)
      t.equal(schemaOf().findKind(name, 'Pod'), undefined)
      t.equal(schemaOf().findMessageType(name), undefined)
    }
  },
)

t.test(
  'every type that a field names is in the schema, and every name is numbered once',
  async t => {
    for (const name of schemaOf().messageTypeNames()) {
      const { fields, hasProtobuf } = schemaOf().messageType(name)
      const numbers = fields.map(field => field.number)
      if (hasProtobuf) t.equal(new Set(numbers).size, numbers.length, `numbers of ${name}`)
      for (const field of fields) {
        if (!specials.has(field.type)) {
          t.ok(schemaOf().findMessageType(field.type), `${name}: ${field.type}`)
        }
        if (field.isInline) t.match(field, { container: 'single', isPointer: false }, name)
      }
    }
  },
)

t.test('defaults and fixups name fields and functions that exist', async t => {
  const hasPath = (typeName: string, path: readonly string[]): boolean => {
    const [name, ...rest] = path
    const { fields } = schemaOf().messageType(typeName)
    const field = fields.find(({ jsonName }) => jsonName === name)
    return field !== undefined && (rest.length === 0 || hasPath(field.type, rest))
  }
  for (const { type, field } of schemaOf().readFixups) t.ok(hasPath(type, [field]), type)
  for (const rule of schemaOf().readDefaults) {
    const { type, field, from, keysFrom, mirrors, firstOf, reads = [], when = {} } = rule
    const conditions = Object.keys(when).filter(path => path !== '*' && !path.startsWith('/'))
    for (const path of [field, from, keysFrom, mirrors, firstOf, ...reads, ...conditions]) {
      if (path !== undefined) t.ok(hasPath(type, path.split('.')), `${type}.${path}`)
    }
    const { compute } = rule
    if (compute === undefined) continue
    const known = field === undefined ? messageComputations : valueComputations
    t.ok(Object.hasOwn(known, compute), compute)
  }
})

t.test('the tables are whole', async t => {
  t.equal(schemaOf().minor, '1.36')
  t.equal(schemaOf().messageTypeNames().length, 1202)
  t.ok(schemaOf().allKinds().length > 345)
  t.equal(
    schemaOf().resources.find(({ resource }) => resource === 'nodes')?.storage?.prefix,
    '/registry/minions/',
  )
})
