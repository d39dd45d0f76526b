import t from 'tap'
import { unreachable } from '../../../lib/etcd/grpc/failures.ts'

/** The text that Node makes of OpenSSL's reason. */
function openSsl(reason: string): string {
  return `80AC8284D77F0000:error:0A00045C:SSL routines:ssl3_read_bytes:${reason}:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:1601:SSL alert number 116\n`
}

const table: readonly [reason: string, message: string][] = [
  ['connect ECONNREFUSED 10.0.0.1:2379', 'connect ECONNREFUSED 10.0.0.1:2379'],
  [
    'unable to verify the first certificate',
    'unable to verify the first certificate: --etcd-cacert has not the authority of its certificate',
  ],
  [
    openSsl('tlsv13 alert certificate required'),
    'tlsv13 alert certificate required: it wants a client certificate that it knows: --etcd-cert and --etcd-key',
  ],
  [
    openSsl('tlsv1 alert unknown ca'),
    'tlsv1 alert unknown ca: it does not know the authority of --etcd-cert',
  ],
  [
    `write EPROTO ${openSsl('wrong version number')}`,
    'wrong version number: is its address http://?',
  ],
  ['Failed to connect', 'Failed to connect: is its address https://?'],
  ['Protocol error', 'Protocol error: is it an etcd?'],
]

t.test('an etcd that cannot be reached is told with what to look at', async t => {
  for (const [reason, message] of table) {
    t.match(unreachable(reason, 'https://10.0.0.1:2379'), {
      code: 'source_failed',
      message: `etcd https://10.0.0.1:2379: cannot be reached: ${message}`,
    })
  }
})
