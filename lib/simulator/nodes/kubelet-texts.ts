/** Texts that kubelets write in several places. */

/** The Event of an image that need not be pulled. */
export function presentMessage(image: string): string {
  const where = 'already present on machine and can be accessed by the pod'
  return `Container image ${JSON.stringify(image)} ${where}`
}

/** As Go prints a duration of whole seconds. */
export function goSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${String(seconds)}s` : `${String(minutes)}m${String(seconds % 60)}s`
}
