/** Bodies as the types of Go decode them: k8s.io/apimachinery and sigs.k8s.io/json. */

import t from 'tap'
import { jsonBody } from '../../../lib/writes/decode/documents.ts'
import { decodeTyped } from '../../../lib/writes/decode/typed-decoder.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'

const schema = schemaOf('1.36')

function decoded(type: string, object: object): { text: string; strictErrors: readonly string[] } {
  const document = jsonBody(Buffer.from(JSON.stringify(object)))
  const made = decodeTyped(document, schema.messageType(type))
  return { text: textFromTree(made.object), strictErrors: made.strictErrors }
}

t.test('as many errors of strict decoding are told as upstream counts', async t => {
  const unknown = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, 1]))
  t.equal(decoded('core/v1.ConfigMap', unknown(99)).strictErrors.length, 99)
  t.equal(decoded('core/v1.ConfigMap', unknown(150)).strictErrors.length, 100)
})

t.test('the zero time is no time, whatever its form', async t => {
  const lease = (renewTime: string): string =>
    decoded('coordination/v1.Lease', { spec: { renewTime } }).text
  t.equal(lease('0001-01-01T00:00:00.000000Z'), '{"spec":{"renewTime":null}}')
  t.equal(
    lease('0001-01-01T00:00:00.000001Z'),
    '{"spec":{"renewTime":"0001-01-01T00:00:00.000001Z"}}',
  )
  t.equal(
    lease('2024-01-02T03:04:05.000600Z'),
    '{"spec":{"renewTime":"2024-01-02T03:04:05.000600Z"}}',
  )
  const pod = (startTime: string): string => decoded('core/v1.Pod', { status: { startTime } }).text
  t.equal(pod('0001-01-01T00:00:00Z'), '{"status":{"startTime":null}}')
  t.equal(pod('0001-01-01T00:00:00.5Z'), '{"status":{"startTime":null}}')
  t.equal(pod('0001-01-01T00:00:01Z'), '{"status":{"startTime":"0001-01-01T00:00:01Z"}}')
})
