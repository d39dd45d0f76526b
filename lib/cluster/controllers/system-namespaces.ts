/** The namespaces that every cluster has: kube-apiserver makes them when it starts, and so do we in
 *  an etcd of our own. */

import type { ApiState } from '../../kube/api-state.ts'
import { parseQuery } from '../../kube/request/request.ts'
import { StatusError } from '../../kube/status.ts'
import { create } from '../write/operations/write.ts'
import { type WriteServices, WriteSession } from '../write/operations/session.ts'

const names = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

/** Makes those that are missing. */
export async function seedNamespaces(state: ApiState, services: WriteServices): Promise<void> {
  const resource = state.registry.find('', 'v1', 'namespaces')
  if (resource === undefined) return
  for (const name of names) {
    const session = new WriteSession(
      {
        state,
        resource,
        namespace: '',
        name: '',
        subresource: '',
        userAgent: 'kube-apiserver',
        user: { user: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} },
        signal: new AbortController().signal,
      },
      services,
    )
    const body = Buffer.from(JSON.stringify({ metadata: { name } }))
    try {
      await create(session, { query: parseQuery(''), contentType: undefined, body })
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.reason !== 'AlreadyExists') throw error
    }
  }
}
