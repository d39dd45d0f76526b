/** Says of objects that do nothing here that they do nothing, when they are created. Not one of
 *  kube-apiserver's plugins: there they work. */

import { memberAt } from '../../../codec/json/tree.ts'
import type { AdmissionPlugin } from '../plugin.ts'

const conversion =
  'this server does not call conversion webhooks: objects are served in their stored version only'

export const unenforced: AdmissionPlugin = {
  name: 'Unenforced',
  validate({ session, operation, object }) {
    if (operation !== 'CREATE' || object === undefined) return undefined
    const strategy = memberAt(object, ['spec', 'conversion', 'strategy'])
    if (session.kind.resource === 'customresourcedefinitions' && strategy === 'Webhook') {
      session.warn([conversion])
    }
    return undefined
  },
}
