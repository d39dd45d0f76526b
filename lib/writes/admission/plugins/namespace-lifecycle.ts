/** NamespaceLifecycle: nothing is created in a namespace that is not there or on its way out, and
 *  three namespaces stay. */

import { memberOf } from '@watchglass/go'
import { objectNotFound } from '@watchglass/kube'
import { forbiddenWrite } from '../../refusals.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

const immortalNamespaces = ['default', 'kube-system', 'kube-public']

export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  mutate(attributes) {
    const { operation, session } = attributes
    const { kind, name } = session
    const isNamespace = kind.group === '' && kind.resource === 'namespaces'
    if (operation === 'DELETE') {
      if (isNamespace && immortalNamespaces.includes(name)) {
        throw forbiddenWrite(kind, name, 'this namespace may not be deleted')
      }
      return undefined
    }
    // Whether an update's namespace is there is known: the object is in it.
    if (operation !== 'CREATE' || !kind.isNamespaced || isNamespace) return undefined
    if (kind.resource === 'localsubjectaccessreviews') return undefined
    return checkNamespaceIsOpen(attributes)
  },
}

async function checkNamespaceIsOpen(attributes: AdmissionAttributes): Promise<void> {
  const { namespace } = attributes.session
  const found = await attributes.namespace()
  if (found === undefined) throw objectNotFound({ group: '', resource: 'namespaces' }, namespace)
  if (memberOf(found.get('status'), 'phase') !== 'Terminating') return
  throw forbidden(
    attributes,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  )
}
