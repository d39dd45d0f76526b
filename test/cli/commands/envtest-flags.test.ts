import t from 'tap'
import {
  clientAddress,
  parseFlags,
  serveArguments,
} from '../../../lib/cli/commands/envtest/flags.ts'

t.test('flags are read as Go reads them', async t => {
  const flags = parseFlags(['--a=1', '-b', '2', '--c', '--d=', '--a=x=y', '--e', '--f', 'z'])
  t.strictSame(
    [...flags],
    [
      ['a', ['1', 'x=y']],
      ['b', ['2']],
      ['c', ['true']],
      ['d', ['']],
      ['e', ['true']],
      ['f', ['z']],
    ],
  )
  t.throws(() => parseFlags(['word']), { message: '"word" is not a flag' })
})

t.test('flags of kube-apiserver become options of serve', async t => {
  const of = (...args: string[]): object => {
    const { entries, unknown } = serveArguments(parseFlags(args))
    return { ...Object.fromEntries(entries), unknown }
  }
  t.strictSame(of('--cert-dir=/c', '--secure-port=1', '--bind-address=::1', '--feature-gates=x'), {
    etcd: ['embedded'],
    listen: ['https://[::1]:1'],
    'tls-cert': ['/c/apiserver.crt'],
    'tls-key': ['/c/apiserver.key'],
    auth: ['none'],
    unknown: ['feature-gates'],
  })
  t.match(of('--authorization-mode=Node,RBAC', '--tls-cert-file=/s', '--token-auth-file=/t'), {
    auth: ['rbac'],
    'tls-cert': ['/s'],
    'token-auth-file': ['/t'],
    unknown: [],
  })
})

t.test('an etcd listens where it is told', async t => {
  t.strictSame(clientAddress(parseFlags(['--listen-client-urls=http://[::1]:5'])), {
    host: '::1',
    port: 5,
  })
  t.strictSame(clientAddress(parseFlags([])), { host: '127.0.0.1', port: 2379 })
  t.throws(() => clientAddress(parseFlags(['--listen-client-urls=x'])), /is not a URL/)
})
