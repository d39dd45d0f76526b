/** Trees that become typed objects, as Go's converter of untyped ones tells of wrong values. The
 *  texts are those of a kube-apiserver 1.36. */

import t from 'tap'
import { parseTree, textFromTree } from '../../../lib/go/json/tree.ts'
import { convertTyped } from '../../../lib/writes/decode/typed-converter.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'

function converted(apiVersion: string, kind: string, value: unknown): string {
  const type = schemaOf('1.36').findKind(apiVersion, kind)?.type
  const bytes = Buffer.from(JSON.stringify(value))
  const tree = parseTree(bytes, 0, bytes.length)
  if (type === undefined || tree === undefined) throw new Error(`no type of ${kind}`)
  try {
    return textFromTree(convertTyped(tree, type).object)
  } catch (error) {
    return (error as Error).message
  }
}

t.test('values of wrong types are told of by their kinds in Go', async t => {
  const rows: readonly (readonly [unknown, string])[] = [
    [{ data: { x: 1 } }, 'cannot convert int64 to string'],
    [{ data: { x: 1.5 } }, 'unrecognized type: string'],
    [{ data: [] }, 'cannot restore map from slice'],
    [{ immutable: 'x' }, 'unrecognized type: bool'],
    [{ metadata: 1 }, 'cannot restore struct from: int64'],
    [{ metadata: { finalizers: {} } }, 'cannot restore slice from map'],
    [{ metadata: { ownerReferences: [{ uid: 1 }] } }, 'cannot convert int64 to types.UID'],
    [{ metadata: { generation: 1.5 } }, 'cannot convert float64 to int64'],
    [{ binaryData: { a: '*' } }, 'error decoding from json: illegal base64 data at input byte 0'],
    [
      { metadata: { creationTimestamp: 1 } },
      'json: cannot unmarshal number into Go value of type string',
    ],
  ]
  for (const [value, message] of rows) t.equal(converted('v1', 'ConfigMap', value), message)
})

t.test('whole numbers that the type does not hold are wrapped', async t => {
  const replicas = (value: number): string =>
    converted('apps/v1', 'Deployment', { spec: { replicas: value } })
  t.equal(replicas(99_999_999_999), '{"spec":{"replicas":1215752191}}')
  t.equal(replicas(3), '{"spec":{"replicas":3}}')
})
