import t from 'tap'
import { addressIn } from '../../../lib/cli/options/listening.ts'

const rows: readonly (readonly [text: string, expected: string | undefined])[] = [
  ['http://127.0.0.1:8001', 'http 127.0.0.1 8001'],
  ['https://[::1]:8443/', 'https ::1 8443'],
  ['https://example.com', 'https example.com 443'],
  ['127.0.0.1:8001', 'http 127.0.0.1 8001'],
  ['localhost:0', 'http localhost 0'],
  ['[::1]:8001', 'http ::1 8001'],
  [':8019', 'http 127.0.0.1 8019'],
  ['0.0.0.0:80', 'http 0.0.0.0 80'],
  ['8001', undefined],
  [':', undefined],
  ['localhost', undefined],
  ['http://:8001', undefined],
  ['http:8001', undefined],
  ['https:8443', undefined],
  ['host:99999', undefined],
  ['host:1:2', undefined],
  ['ftp://host:21', undefined],
]

for (const [text, expected] of rows) {
  t.test(`an address to listen on: ${text}`, async t => {
    const address = addressIn(text)
    t.equal(address && `${address.protocol} ${address.host} ${address.port}`, expected)
  })
}
