import t from 'tap'
import { reasonFor, UpstreamFailure } from '../../../lib/proxy/upstream/failure.ts'

t.test('the log is told what a failure came from, and what to look at', async t => {
  const reasonOf = (cause?: Error): string =>
    reasonFor(new UpstreamFailure('broken', 'the upstream closed the connection', cause))
  t.equal(reasonOf(), 'the upstream closed the connection')
  t.equal(
    reasonOf(
      Object.assign(new Error('unable to verify the first certificate'), {
        code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      }),
    ),
    'the upstream closed the connection: unable to verify the first certificate: --upstream-ca, or the kubeconfig, has not the authority of its certificate',
  )
  t.equal(
    reasonOf(
      Object.assign(
        new Error('80:error:0A:SSL routines:ssl3_get_record:wrong version number:x.c:354:'),
        { code: 'ERR_SSL_WRONG_VERSION_NUMBER', reason: 'wrong version number' },
      ),
    ),
    'the upstream closed the connection: wrong version number: is its address http://?',
  )
  t.equal(
    reasonOf(Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' })),
    'the upstream closed the connection: certificate has expired',
    'another authority would not help',
  )
  t.equal(
    reasonOf(new Error('no certificate here')),
    'the upstream closed the connection: no certificate here',
    'its text decides nothing',
  )
})
