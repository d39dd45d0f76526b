/** The order of API versions: v2, v1, v1beta2, v1beta1, v1alpha1, and then what has no such form,
 *  by its text. */

/** Negative if `a` comes first, that is, if it is preferred to `b`. */
export function compareVersions(a: string, b: string): number {
  const left = versionParts(a)
  const right = versionParts(b)
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1
    if (right !== undefined) return 1
    return a < b ? -1 : a === b ? 0 : 1
  }
  for (let i = 0; i < left.length; i++) {
    const difference = right[i]! - left[i]!
    if (difference !== 0) return difference
  }
  return 0
}

const stability: Readonly<Record<string, number>> = { alpha: 1, beta: 2 }

/** Stability, major, minor: each the higher, the better. */
function versionParts(version: string): readonly number[] | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version)
  if (match === null) return undefined
  const [, major, stage, minor] = match
  return [stage === undefined ? 3 : stability[stage]!, Number(major), Number(minor ?? 0)]
}
