/** DefaultTolerationSeconds: a pod stays for a while on a node that is not ready or not reached. */

import { itemsOf, JsonNumber, type JsonValue, memberOf } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import type { AdmissionPlugin } from '../plugin.ts'

const toleratedTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const toleratedSeconds = 300

export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  mutate({ isPod, operation, object }) {
    const spec = object?.get('spec')
    if (!isPod || operation === 'DELETE' || !(spec instanceof Map)) return undefined
    const known = [...itemsOf(spec.get('tolerations'))]
    const added = toleratedTaints.filter(taint => !known.some(item => tolerates(item, taint)))
    if (added.length === 0) return undefined
    const tolerations = added.map(
      (taint): JsonValue =>
        new Map<string, JsonValue>([
          ['key', taint],
          ['operator', 'Exists'],
          ['effect', 'NoExecute'],
          ['tolerationSeconds', new JsonNumber(String(toleratedSeconds))],
        ]),
    )
    spec.set('tolerations', [...known, ...tolerations])
    return undefined
  },
}

function tolerates(toleration: JsonValue, taint: string): boolean {
  const key = textOf(memberOf(toleration, 'key'))
  const effect = textOf(memberOf(toleration, 'effect'))
  return (key === taint || key === '') && (effect === 'NoExecute' || effect === '')
}
