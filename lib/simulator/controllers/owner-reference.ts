/** References by which a controller owns what it makes. */

/** The owner of what a controller makes or adopts. */
export interface OwnerIdentity {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** The reference of the one owner that controls an object (metav1.NewControllerRef). */
export function controllerReference({ apiVersion, kind, name, uid }: OwnerIdentity): object {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}
