/** Rules of custom resources beside their schemas, each by itself: lists that are sets or maps,
 *  embedded resources, the numbers of their scale, finalizers. The texts are those of
 *  Kubernetes' sources (apiextensions-apiserver: schema/listtype, schema/objectmeta,
 *  registry/customresource). */

import t from 'tap'
import { checkEmbedded, coerceEmbedded } from '../../../lib/writes/custom/embedded-resources.ts'
import { finalizerWarnings } from '../../../lib/writes/custom/finalizer-warnings.ts'
import { checkListTypes } from '../../../lib/writes/custom/list-types.ts'
import { checkScaleSpec, checkScaleStatus } from '../../../lib/writes/custom/scale-paths.ts'
import type { FieldError } from '../../../lib/writes/field-errors.ts'
import { Place } from '../../../lib/writes/validation/place.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { treeOf } from '../recorded/load.ts'

type Row = readonly [value: object, errors: readonly string[]]

function textsOf(value: object, check: (place: Place) => void): string[] {
  const errors: FieldError[] = []
  check(new Place(treeOf(value), '', errors))
  return errors.map(({ field, message }) => `${field}: ${message}`)
}

const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: {} }
const map = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['k', 'l'],
  items: { type: 'object', properties: { inner: set } },
}
const lists = {
  properties: {
    set,
    map,
    plain: { type: 'array', items: set },
    others: { additionalProperties: set },
  },
}

const listRows: readonly Row[] = [
  [{ set: [1, 2] }, []],
  [{ set: [1, 1] }, ['set[1]: Duplicate value: 1']],
  [{ set: ['a', 'b', 'a', 'a'] }, ['set[2]: Duplicate value: "a"']],
  [{ map: [{ k: 1 }, { k: 2 }] }, []],
  [
    {
      map: [
        { k: 1, x: 1 },
        { k: 1, x: 2 },
      ],
    },
    ['map[1]: Duplicate value: {"k":1}'],
  ],
  [
    {
      map: [
        { k: 1, l: 1 },
        { k: 1, l: 2 },
      ],
    },
    [],
  ],
  [
    {
      map: [
        { l: 1, k: 1 },
        { k: 1, l: 1 },
      ],
    },
    ['map[1]: Duplicate value: {"k":1,"l":1}'],
  ],
  [{ map: [1] }, ['map[0]: Invalid value: 1: must be an object for an array of list-type map']],
  [{ map: [null] }, []],
  [{ map: [{ k: 1, inner: [1, 1] }] }, ['map[0].inner[1]: Duplicate value: 1']],
  [{ plain: [[1, 1], [2]] }, ['plain[0][1]: Duplicate value: 1']],
  [
    { others: { b: [1, 1], a: [2, 2] } },
    ['others[a][1]: Duplicate value: 2', 'others[b][1]: Duplicate value: 1'],
  ],
]

t.test('lists that are sets or maps', async t => {
  for (const [value, expected] of listRows) {
    const texts = textsOf(value, place => checkListTypes(place, lists))
    t.strictSame(texts, expected, JSON.stringify(value))
  }
})

const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true }
const embedding = { properties: { e: embedded, list: { items: embedded } } }
const right = { apiVersion: 'v1', kind: 'K' }

const embeddedRows: readonly Row[] = [
  [{ e: right }, []],
  [{ e: {} }, ['e.apiVersion: Required value', 'e.kind: Required value']],
  [{ e: { ...right, apiVersion: 1 } }, ['e.apiVersion: Invalid value: 1: must be a string']],
  [{ e: { ...right, apiVersion: '' } }, ['e.apiVersion: Invalid value: "": must not be empty']],
  [
    { e: { ...right, apiVersion: 'a/b/c' } },
    ['e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  ],
  [{ e: { ...right, apiVersion: 'a/b' } }, []],
  [{ e: { ...right, kind: true } }, ['e.kind: Invalid value: true: must be a string']],
  [{ e: { ...right, kind: '' } }, ['e.kind: Invalid value: "": must not be empty']],
  [
    { e: { ...right, kind: '1' } },
    [
      "e.kind: Invalid value: \"1\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
  [
    { e: { ...right, metadata: { name: 'a/b' } } },
    ['e.metadata.name: Invalid value: "a/b": may not contain \'/\''],
  ],
  [{ e: { ...right, metadata: {} } }, []],
  [{ e: { ...right, metadata: { namespace: 'n' } } }, []],
  [
    { e: { ...right, metadata: { namespace: 'n/' } } },
    [
      "e.metadata.namespace: Invalid value: \"n/\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
  [{ list: [right, { kind: 'K' }] }, ['list[1].apiVersion: Required value']],
]

t.test('embedded resources', async t => {
  for (const [value, expected] of embeddedRows) {
    const texts = textsOf(value, place => checkEmbedded(place, embedding))
    t.strictSame(texts, expected, JSON.stringify(value))
  }
})

t.test('metadata of embedded resources is that of Go', async t => {
  const coerce = (value: object): string[] =>
    coerceEmbedded(new Place(treeOf(value), '', []), embedding, schemaOf('1.36'))
  t.strictSame(coerce({ e: { ...right, metadata: { name: 'a', x: 1 } } }), ['e.metadata.x'])
  t.strictSame(coerce({ list: [{ metadata: { y: 1 } }], e: 1 }), ['list[0].metadata.y'])
  t.strictSame(coerce({ other: { metadata: { x: 1 } } }), [])
  t.throws(() => coerce({ e: { kind: 1 } }), {
    message: 'e.kind: Invalid value: 1: must be a string',
  })
  t.throws(() => coerce({ e: { metadata: { name: 1 } } }), {
    message: /^e\.metadata: Invalid value: \{"name":1\}: /,
  })
})

const paths = {
  specReplicas: '.spec.replicas',
  statusReplicas: '.status.replicas',
  labelSelector: '.status.selector',
}

const specRows: readonly Row[] = [
  [{}, []],
  [{ spec: {} }, []],
  [{ spec: null }, []],
  [{ spec: { replicas: 0 } }, []],
  [{ spec: { replicas: 2147483647 } }, []],
  [
    { spec: { replicas: 2147483648 } },
    ['.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647'],
  ],
  [
    { spec: { replicas: -1 } },
    ['.spec.replicas: Invalid value: -1: should be a non-negative integer'],
  ],
  [
    { spec: { replicas: 'a' } },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected int64',
    ],
  ],
  [
    { spec: { replicas: 1.5 } },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64',
    ],
  ],
  [
    { spec: { replicas: true } },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: true is of the type bool, expected int64',
    ],
  ],
  [
    { spec: { replicas: [1, null] } },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: [1 <nil>] is of the type []interface {}, expected int64',
    ],
  ],
  [
    { spec: { replicas: { b: 1, a: 2 } } },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: map[a:2 b:1] is of the type map[string]interface {}, expected int64',
    ],
  ],
  [
    { spec: 'a' },
    [
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected map[string]interface{}',
    ],
  ],
]

t.test('the number of a scale', async t => {
  for (const [value, expected] of specRows) {
    t.strictSame(
      textsOf(value, place => checkScaleSpec(place, paths)),
      expected,
      JSON.stringify(value),
    )
  }
})

const statusRows: readonly Row[] = [
  [{ status: { replicas: 1, selector: 'a=b' } }, []],
  [
    { status: { replicas: -1 } },
    ['.status.replicas: Invalid value: -1: should be a non-negative integer'],
  ],
  [
    { status: { selector: 1 } },
    [
      '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string',
    ],
  ],
]

t.test('the status of a scale', async t => {
  for (const [value, expected] of statusRows) {
    t.strictSame(
      textsOf(value, place => checkScaleStatus(place, paths)),
      expected,
      JSON.stringify(value),
    )
  }
  const none = { ...paths, labelSelector: '' }
  t.strictSame(
    textsOf({ status: { selector: 1 } }, place => checkScaleStatus(place, none)),
    [],
  )
})

t.test('finalizers that were not there before are warned of', async t => {
  const object = (...finalizers: string[]): ReturnType<typeof treeOf> =>
    treeOf({ metadata: { finalizers } })
  const prefer = (name: string, path = ''): string =>
    `metadata.finalizers: "${name}": prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`
  t.strictSame(finalizerWarnings(object('b', 'a'), undefined), [prefer('a'), prefer('b')])
  t.strictSame(finalizerWarnings(object('a.b'), undefined), [
    prefer('a.b', ' including a path (/)'),
  ])
  t.strictSame(finalizerWarnings(object('a', 'b'), object('a')), [prefer('b')])
  t.strictSame(
    finalizerWarnings(object('a/b', 'orphan', 'foregroundDeletion', 'kubernetes'), undefined),
    [],
  )
  t.match(finalizerWarnings(object('a b'), undefined), [
    /name part must consist/,
    /prefer a domain/,
  ])
})
