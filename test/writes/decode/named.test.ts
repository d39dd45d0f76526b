import t from 'tap'
import { jsonBody, namedIn } from '../../../lib/writes/decode/documents.ts'
import { decodeTyped, DecodeError } from '../../../lib/writes/decode/typed-decoder.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'

const schema = schemaOf('1.36')

/** The value that is read, or the text of the refusal. */
function orRefusal(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (error instanceof DecodeError) return error.message
    throw error
  }
}

const prefix = "couldn't get version/kind; json parse error: json: cannot unmarshal"
const probe =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** json.SimpleMetaFactory.Interpret of apimachinery. */
t.test('the kind of a document is read as Go reads it', async t => {
  const rows: readonly (readonly [string, object | string])[] = [
    ['{"apiVersion":"v1","kind":"Pod"}', { group: '', version: 'v1', kind: 'Pod' }],
    ['{"apiVersion":"a/v1","kind":"K"}', { group: 'a', version: 'v1', kind: 'K' }],
    ['{"APIVERSION":"v1","Kind":"K"}', { group: '', version: 'v1', kind: 'K' }],
    ['{"kind":"A","KIND":"B"}', { group: '', version: '', kind: 'B' }],
    ['{"apiVersion":"/"}', { group: '', version: '', kind: '' }],
    ['{"apiVersion":null,"kind":null}', { group: '', version: '', kind: '' }],
    ['{}', { group: '', version: '', kind: '' }],
    ['null', { group: '', version: '', kind: '' }],
    ['{"apiVersion":"a/b/c"}', 'unexpected GroupVersion string: a/b/c'],
    ['[]', `${prefix} array into Go value of type ${probe}`],
    ['7', `${prefix} number into Go value of type ${probe}`],
    ['"x"', `${prefix} string into Go value of type ${probe}`],
    ['true', `${prefix} bool into Go value of type ${probe}`],
    ...(['kind', 'apiVersion'] as const).flatMap(field =>
      (
        [
          ['[]', 'array'],
          ['{}', 'object'],
          ['true', 'bool'],
          ['1', 'number'],
        ] as const
      ).map(
        ([value, what]) =>
          [
            `{"${field}":${value}}`,
            `${prefix} ${what} into Go struct field .${field} of type string`,
          ] as const,
      ),
    ),
  ]
  for (const [text, expected] of rows) {
    t.strictSame(
      orRefusal(() => namedIn(jsonBody(Buffer.from(text)))),
      expected,
      text,
    )
  }
})

/** The texts of encoding/json's UnmarshalTypeError, with the types of k8s.io/api. */
t.test('a value of another type is refused with the names that it has in Go', async t => {
  const into = 'into Go struct field'
  const rows: readonly (readonly [type: string, text: string, refusal: string])[] = [
    ['core/v1.Pod', '[]', 'array into Go value of type v1.Pod'],
    ['core/v1.Pod', '"x"', 'string into Go value of type v1.Pod'],
    ['core/v1.Pod', '1', 'number into Go value of type v1.Pod'],
    ['core/v1.Pod', 'false', 'bool into Go value of type v1.Pod'],
    ['core/v1.Pod', '{"kind":1}', `number ${into} Pod.kind of type string`],
    ['core/v1.Pod', '{"spec":1}', `number ${into} Pod.spec of type v1.PodSpec`],
    ['core/v1.Pod', '{"spec":[]}', `array ${into} Pod.spec of type v1.PodSpec`],
    [
      'core/v1.Pod',
      '{"spec":{"hostNetwork":"yes"}}',
      `string ${into} PodSpec.spec.hostNetwork of type bool`,
    ],
    [
      'core/v1.Pod',
      '{"spec":{"containers":{}}}',
      `object ${into} PodSpec.spec.containers of type []v1.Container`,
    ],
    [
      'core/v1.Pod',
      '{"spec":{"containers":[1]}}',
      `number ${into} PodSpec.spec.containers of type v1.Container`,
    ],
    [
      'core/v1.Pod',
      '{"spec":{"containers":[{"args":[true]}]}}',
      `bool ${into} Container.spec.containers.args of type string`,
    ],
    [
      'core/v1.Pod',
      '{"spec":{"priority":"1"}}',
      `string ${into} PodSpec.spec.priority of type int32`,
    ],
    [
      'core/v1.Pod',
      '{"spec":{"priority":1.5}}',
      `number 1.5 ${into} PodSpec.spec.priority of type int32`,
    ],
    [
      'core/v1.Pod',
      '{"spec":{"priority":2147483648}}',
      `number 2147483648 ${into} PodSpec.spec.priority of type int32`,
    ],
    [
      'core/v1.Pod',
      '{"metadata":{"labels":[]}}',
      `array ${into} ObjectMeta.metadata.labels of type map[string]string`,
    ],
    [
      'core/v1.Pod',
      '{"metadata":{"labels":{"a":1}}}',
      `number ${into} ObjectMeta.metadata.labels of type string`,
    ],
    ['core/v1.Secret', '{"data":{"a":1}}', `number ${into} Secret.data of type []uint8`],
  ]
  for (const [type, text, refusal] of rows) {
    t.equal(
      orRefusal(() => decodeTyped(jsonBody(Buffer.from(text)), schema.messageType(type))),
      `json: cannot unmarshal ${refusal}`,
      text,
    )
  }
})

t.test('repeated and unknown members are told of, and the last one counts', async t => {
  const text =
    '{"spec":{"hostNetwork":true,"hostNetwork":false,"nope":1,"nodeName":"a","nodeName":null},"more":{}}'
  const { object, strictErrors, unknownFields } = decodeTyped(
    jsonBody(Buffer.from(text)),
    schema.messageType('core/v1.Pod'),
  )
  t.equal(textFromTree(object), '{"spec":{"hostNetwork":false,"nodeName":"a"}}')
  t.strictSame(strictErrors, [
    'duplicate field "spec.hostNetwork"',
    'unknown field "spec.nope"',
    'duplicate field "spec.nodeName"',
    'unknown field "more"',
  ])
  t.strictSame(unknownFields, ['spec.nope', 'more'])
  const nothing = decodeTyped(jsonBody(Buffer.from('null')), schema.messageType('core/v1.Pod'))
  t.strictSame([nothing.object.size, nothing.strictErrors], [0, []])
})
