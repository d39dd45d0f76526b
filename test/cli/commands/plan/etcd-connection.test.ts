import { readFileSync } from 'node:fs'
import t from 'tap'
import type { CommandRow } from '../../../../lib/cli/options/option.ts'
import { etcdConnection } from '../../../../lib/cli/commands/plan/etcd-connection.ts'
import type { EtcdConnection } from '../../../../lib/etcd/connection-settings.ts'
import { etcdCredentialOptions, etcdOption } from '../../../../lib/cli/options/etcd.ts'
import { load } from '../../../../lib/cli/commands/command-line.ts'

const known: Record<string, CommandRow> = {
  record: { operands: '', summary: '', options: [etcdOption, ...etcdCredentialOptions] },
}

function connectionOf(args: string[], env: NodeJS.ProcessEnv = {}): EtcdConnection {
  const invocation = load(['record', ...args], env, known)
  if (invocation.kind !== 'run') throw new Error('not a command')
  return etcdConnection(invocation.values)
}

t.test('endpoints may be repeated or separated by commas', async t => {
  t.strictSame(connectionOf([]).endpoints, ['http://127.0.0.1:2379'])
  const { endpoints, tls, user } = connectionOf(['--etcd', 'a:1, b:2', '--etcd', 'https://c:3'])
  t.strictSame(endpoints, ['a:1', 'b:2', 'https://c:3'])
  t.strictSame([tls, user], [undefined, undefined])
})

t.test('credentials are read from files', async t => {
  const [ca, cert, key] = ['ca.pem', 'client.pem', 'client.key'].map(
    name => `test/support/certs/${name}`,
  ) as [string, string, string]
  const args = ['--etcd-cacert', ca, '--etcd-cert', cert, '--etcd-key', key]
  t.strictSame(connectionOf(args).tls, {
    ca: readFileSync(ca),
    cert: readFileSync(cert),
    key: readFileSync(key),
  })
  t.throws(() => connectionOf(args.slice(0, 4)), {
    code: 'invalid_request',
    message: /given together/,
  })
  t.throws(() => connectionOf(['--etcd-cacert', 'none']), {
    code: 'invalid_request',
    message: /--etcd-cacert cannot be read/,
  })
})

t.test('a user has a name and a password, which no message repeats', async t => {
  const env = { WATCHGLASS_ETCD_USER: 'root:with:colon' }
  t.strictSame(connectionOf([], env).user, { name: 'root', password: 'with:colon' })
  for (const wrong of ['hunter2', ':hunter2']) {
    try {
      connectionOf(['--etcd-user', wrong])
      t.fail('taken')
    } catch (error) {
      t.match(error, { code: 'invalid_request' })
      t.notMatch(String(error), 'hunter2')
    }
  }
})
