/** The namespace of objects that were recorded without it: nothing could be written into one that
 *  is not there. */

import type { UntypedObject } from '@watchglass/base'

export function namespaceObject(name: string): UntypedObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}
