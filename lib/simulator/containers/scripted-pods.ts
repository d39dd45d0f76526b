/** Pods of which something says how their containers go: a command that the built-in shell knows,
 *  an annotation, a ConfigMap that may be missing. Each is looked at as a kubelet looks at pods
 *  (`nodes/pod-sync.ts`); all others run on until chance or a fault ends them, and cost less. */

import { scriptOf } from './container-script.ts'
import type { DeclaredPod } from './declared-pod.ts'
import { imageProblem } from './image-pulls.ts'
import { hasReferences } from './missing-references.ts'
import { firstAfterMs, isKnownProbe, probeAnnotation, probeKinds } from './probes.ts'

/** Whether a pod is looked at as a kubelet does it, and not just started. */
export function isScripted(pod: DeclaredPod): boolean {
  const { spec, metadata } = pod
  const hasGates = (spec.readinessGates?.length ?? 0) > 0
  if (hasGates || spec.activeDeadlineSeconds !== undefined) return true
  const containers = [...(spec.initContainers ?? []), ...spec.containers]
  const { annotations } = metadata
  const isAnnotated = annotations !== undefined && hasProbeAnnotation(annotations)
  return (
    isAnnotated ||
    hasReferences(pod) ||
    containers.some(
      container =>
        scriptOf(pod, container) !== undefined ||
        probeKinds.some(kind => isKnownProbe(container, kind)) ||
        decidingProbes.some(kind => firstAfterMs(container, kind) > 0) ||
        imageProblem(annotations, container.image ?? '') !== undefined,
    )
  )
}

/** Probes without whose success a container is not ready. */
const decidingProbes = ['startup', 'readiness'] as const

function hasProbeAnnotation(annotations: Readonly<Record<string, string>>): boolean {
  const names = probeKinds.map(probeAnnotation)
  return Object.keys(annotations).some(key => names.some(name => key.startsWith(name)))
}
