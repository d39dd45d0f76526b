import { readFileSync } from 'node:fs'
import t from 'tap'
import { authoritiesOf, fileOf, keyPairOf } from '../../../../lib/cli/commands/plan/files.ts'
import { OptionValues } from '../../../../lib/cli/options/option-values.ts'

const certs = 'test/support/certs'

function given(values: Readonly<Record<string, string>>): OptionValues {
  return new OptionValues(new Map(Object.entries(values).map(([name, value]) => [name, [value]])))
}

t.test('a file is read that an option names', async t => {
  t.strictSame(fileOf(given({ a: 'LICENSE' }), 'a'), readFileSync('LICENSE'))
  t.equal(fileOf(given({}), 'a'), undefined)
  t.throws(() => fileOf(given({ a: 'none' }), 'a'), { message: /^--a cannot be read: ENOENT/ })
})

t.test('authorities are certificates', async t => {
  const file = `${certs}/ca.pem`
  t.strictSame(authoritiesOf(given({ ca: file }), 'ca'), readFileSync(file))
  t.equal(authoritiesOf(given({}), 'ca'), undefined)
  for (const wrong of ['LICENSE', `${certs}/ca.key`]) {
    const message = `--ca ${wrong} has no certificate (PEM): `
    try {
      authoritiesOf(given({ ca: wrong }), 'ca')
      t.fail(wrong)
    } catch (error) {
      t.match(error, { code: 'invalid_request' })
      t.ok(String((error as Error).message).startsWith(message), String(error))
    }
  }
})

t.test('a certificate has its own key', async t => {
  const [cert, key] = [`${certs}/client.pem`, `${certs}/client.key`]
  const pairOf = (values: Readonly<Record<string, string>>): unknown =>
    keyPairOf(given(values), 'cert', 'key')
  t.strictSame(pairOf({ cert, key }), { cert: readFileSync(cert), key: readFileSync(key) })
  t.equal(pairOf({}), undefined)
  t.throws(() => pairOf({ cert }), { message: '--cert and --key must be given together' })
  t.throws(() => pairOf({ key }), { message: '--cert and --key must be given together' })
  const refused = (message: string): { code: string; message: string } => {
    return { code: 'invalid_request', message }
  }
  const other = `${certs}/renewed.key`
  t.throws(
    () => pairOf({ cert, key: other }),
    refused(`--key ${other} is not the key of --cert ${cert}`),
  )
  t.throws(
    () => pairOf({ cert: 'LICENSE', key }),
    refused('--cert LICENSE has no certificate (PEM)'),
  )
})
