/** TaintNodesByCondition: a new node is not ready. */

import { itemsOf, type JsonObject, memberOf, objectIn } from '@watchglass/go'
import type { AdmissionPlugin } from '../plugin.ts'

const notReady = 'node.kubernetes.io/not-ready'

export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  mutate(attributes) {
    const { operation, object } = attributes
    if (operation !== 'CREATE' || object === undefined || !attributes.isOf('', 'nodes')) {
      return undefined
    }
    const spec = objectIn(object, 'spec')
    const taints = [...itemsOf(spec.get('taints'))]
    const isTainted = taints.some(
      taint => memberOf(taint, 'key') === notReady && memberOf(taint, 'effect') === 'NoSchedule',
    )
    if (isTainted) return undefined
    const taint: JsonObject = new Map([
      ['key', notReady],
      ['effect', 'NoSchedule'],
    ])
    spec.set('taints', [...taints, taint])
    return undefined
  },
}
