/** The rules by which the protection finalizers of claims and volumes go, over plain values. */

export interface ProtectedClaim {
  readonly metadata: { readonly name: string; readonly uid: string }
}

export interface ClaimingPod {
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly Owner[] }
  readonly spec?: {
    readonly nodeName?: string
    readonly volumes?: readonly {
      readonly name: string
      readonly persistentVolumeClaim?: { readonly claimName: string }
      readonly ephemeral?: object
    }[]
  }
}

interface Owner {
  readonly uid: string
}

export interface ProtectedVolume {
  readonly spec?: {
    readonly claimRef?: {
      readonly namespace?: string
      readonly name?: string
      readonly uid?: string
    }
  }
  readonly status?: { readonly phase?: string }
}

/** A pod that has no node yet cannot start with a claim that is being deleted, so it does not hold
 *  it. One that has ended does. */
export function isClaimUsed({ metadata }: ProtectedClaim, pods: Iterable<ClaimingPod>): boolean {
  for (const pod of pods) {
    const { nodeName = '', volumes = [] } = pod.spec ?? {}
    if (nodeName === '') continue
    const isUsed = volumes.some(
      ({ name, persistentVolumeClaim, ephemeral }) =>
        persistentVolumeClaim?.claimName === metadata.name ||
        (ephemeral !== undefined && `${pod.metadata.name}-${name}` === metadata.name),
    )
    if (isUsed) return true
  }
  return false
}

/** `claimUid` is that of the claim of the name to which it is bound, if there is one. A volume is
 *  free, too, if its claim is gone and nobody has said so. */
export function isVolumeUsed(
  { spec, status }: ProtectedVolume,
  claimUid: string | undefined,
): boolean {
  if (status?.phase !== 'Bound') return false
  const bound = spec?.claimRef?.uid
  return claimUid !== undefined && (bound === undefined || bound === claimUid)
}

/** A claim or a volume, as far as it names classes of attributes. */
export interface ClassUser {
  readonly spec?: { readonly volumeAttributesClassName?: string }
  readonly status?: {
    readonly currentVolumeAttributesClassName?: string
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string }
  }
}

/** Whether a claim or volume has the class, or is on the way to it. */
export function isClassNamed(name: string, { spec, status }: ClassUser): boolean {
  return [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].includes(name)
}
