/** The words for a Node that is older than the program needs. */

/** That of `engines` in package.json. */
const oldest = [20, 18, 1] as const

/** Undefined for one that is new enough. */
export function oldNodeProblem(version: string, path: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.slice(1).split('.').map(Number)
  const later = major - oldest[0] || minor - oldest[1] || patch - oldest[2]
  if (later >= 0) return undefined
  return `needs Node ${oldest.join('.')} or newer, and this is ${version} (${path}); Node 24 is recommended`
}
