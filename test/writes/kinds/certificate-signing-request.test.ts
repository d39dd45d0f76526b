import t from 'tap'
import { certificateSigningRequest } from '../../../lib/writes/kinds/certificates/certificate-signing-request.ts'

import type { StrategyContext } from '../../../lib/writes/kinds/kind.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import { treeOf } from '../recorded/load.ts'

/** The spec that is stored when this user asks for this one. */
function specOf(user: Identity, spec: object): unknown {
  const object = treeOf({ spec })
  certificateSigningRequest.prepareCreate?.(object, { user } as StrategyContext)
  return (JSON.parse(textFromTree(object)) as { spec: unknown }).spec
}

/** csrStrategy.PrepareForCreate of registry/certificates. */
t.test('a signing request says who asks, whatever was sent', async t => {
  const alice = { user: 'alice', uid: 'u', groups: ['dev', 'ops'], extra: { scopes: ['a', 'b'] } }
  const sent = { request: 'r', username: 'bob', uid: 'x', groups: ['admin'], extra: { y: ['z'] } }
  const { user: username, ...others } = alice
  t.strictSame(specOf(alice, sent), { request: 'r', username, ...others })
  t.strictSame(specOf({ user: '', uid: '', groups: [], extra: {} }, sent), { request: 'r' })
})
