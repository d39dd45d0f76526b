/** Says of objects that do nothing here that they do nothing, when they are created. Not one of
 *  kube-apiserver's plugins: there they work. */

import { memberAt } from '../../../codec/json/tree.ts'
import type { AdmissionPlugin } from '../plugin.ts'

const texts: ReadonlyMap<string, string> = new Map([
  ['mutatingadmissionpolicies', 'this server does not evaluate admission policies'],
  ['mutatingadmissionpolicybindings', 'this server does not evaluate admission policies'],
])

const conversion =
  'this server does not call conversion webhooks: objects are served in their stored version only'

export const unenforced: AdmissionPlugin = {
  name: 'Unenforced',
  validate({ session, operation, object }) {
    const { group, resource } = session.kind
    if (operation !== 'CREATE' || object === undefined) return undefined
    const strategy = memberAt(object, ['spec', 'conversion', 'strategy'])
    if (resource === 'customresourcedefinitions' && strategy === 'Webhook') {
      session.warn([conversion])
    }
    if (group !== 'admissionregistration.k8s.io') return undefined
    const text = texts.get(resource)
    if (text !== undefined) session.warn([text])
    return undefined
  },
}
