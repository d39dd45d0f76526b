/** LimitPodHardAntiAffinityTopology: a pod may keep others from its node, and from nothing
 *  larger. */

import { metaText, textOf } from '../../metadata.ts'
import { forbiddenWrite } from '../../refusals.ts'
import { partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin } from '../plugin.ts'

const hostname = 'kubernetes.io/hostname'

export const limitAntiAffinity: AdmissionPlugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  validate({ session, isPod, operation, object }) {
    if (!isPod || operation === 'DELETE' || object === undefined) return undefined
    const affinity = partOf(partOf(object, 'spec').get('affinity'), 'podAntiAffinity')
    const terms = partsOf(affinity, 'requiredDuringSchedulingIgnoredDuringExecution')
    const other = terms.map(term => textOf(term.get('topologyKey'))).find(key => key !== hostname)
    if (other === undefined) return undefined
    throw forbiddenWrite(
      session.kind,
      metaText(object, 'name'),
      `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other} but only key ${hostname} is allowed`,
    )
  },
}
