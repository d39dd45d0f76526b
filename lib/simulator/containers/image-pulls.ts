/** Images that cannot be pulled: those that an annotation of the pod names, those of a fault, and
 *  those whose name is none. A kubelet tries again, and waits twice as long each time. */

import type { Key } from '@watchglass/base'

/** Names of images that the pod cannot get, which may end with `*`, with spaces or commas between
 *  them. */
export const missingImagesAnnotation = 'watchglass.local/missing-images'

export interface ImageProblem {
  readonly reason: 'ErrImagePull' | 'InvalidImageName'
  readonly message: string
}

/** The answer to a container that is to be started. */
export type PullOutcome =
  | 'pulled'
  /** The image was asked for, and there is none. */
  | (ImageProblem & { readonly againMs: number })
  /** The image was asked for before, and is to be asked for again after a while. */
  | { readonly reason: 'ImagePullBackOff'; readonly message: string; readonly againMs: number }

const firstMs = 10_000
const lastMs = 300_000
/** The time for which `ErrImagePull` is shown before `ImagePullBackOff`. */
const failedMs = 2_000

interface FailedPull {
  readonly times: number
  readonly againAtMs: number
  readonly problem: ImageProblem
}

/** The pulls that have failed, by pod and image. */
export class ImagePulls {
  readonly #failed = new Map<Key, Map<string, FailedPull>>()

  /** Asks for an image, unless it has to wait. `problemOf` is asked when it is pulled. */
  pull(
    { key, image, nowMs }: { readonly key: Key; readonly image: string; readonly nowMs: number },
    problemOf: () => ImageProblem | undefined,
  ): PullOutcome {
    const failed = this.#failed.get(key)
    const before = failed?.get(image)
    if (before !== undefined && nowMs < before.againAtMs) {
      const { reason, message } = before.problem
      return {
        reason: 'ImagePullBackOff',
        message: `Back-off pulling image "${image}": ${reason}: ${message}`,
        againMs: before.againAtMs - nowMs,
      }
    }
    const problem = problemOf()
    if (problem === undefined) {
      failed?.delete(image)
      return 'pulled'
    }
    const times = (before?.times ?? 0) + 1
    // A name that is none is not asked for, and the kubelet looks at it again like at a pod.
    if (problem.reason === 'InvalidImageName') return { ...problem, againMs: firstMs }
    const againAtMs = nowMs + Math.min(firstMs * 2 ** (times - 1), lastMs)
    const known = failed ?? new Map<string, FailedPull>()
    this.#failed.set(key, known.set(image, { times, againAtMs, problem }))
    return { ...problem, againMs: failedMs }
  }

  forget(key: Key): void {
    this.#failed.delete(key)
  }
}

/** The reason for which a pod cannot have an image, as its name or its annotation says. */
export function imageProblem(
  annotations: Readonly<Record<string, string>> | undefined,
  image: string,
): ImageProblem | undefined {
  const wrong = nameProblem(image)
  if (wrong !== undefined) {
    const said = JSON.stringify(image)
    const message = `Failed to apply default image tag ${said}: couldn't parse image name ${said}: ${wrong}`
    return { reason: 'InvalidImageName', message }
  }
  const missing = annotations?.[missingImagesAnnotation]?.split(/[\s,]+/) ?? []
  const isMissing = missing.some(name =>
    name.endsWith('*') ? image.startsWith(name.slice(0, -1)) : name !== '' && name === image,
  )
  return isMissing ? { reason: 'ErrImagePull', message: notFoundMessage(image) } : undefined
}

/** As containerd says it of a registry that does not have the image. */
function notFoundMessage(image: string): string {
  const whole = wholeName(image)
  const what = `failed to pull and unpack image "${whole}"`
  const why = `failed to resolve reference "${whole}": ${whole}: not found`
  return `rpc error: code = NotFound desc = ${what}: ${why}`
}

/** The image with its registry and its tag. */
function wholeName(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  const official = rest.length === 0 ? 'docker.io/library/' : 'docker.io/'
  const named = hasRegistry ? image : `${official}${image}`
  return /(?:@|:[^/]*$)/.test(named) ? named : `${named}:latest`
}

const domain = String.raw`[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?`
const component = String.raw`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
/** A digest may be short, as made-up ones are. */
const reference = new RegExp(
  String.raw`^(?:${domain}/)?${component}(?:/${component})*(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]+)?$`,
)
/** A name of 255 characters, a tag and a digest. */
const imageMax = 512

/** The fault of the name of an image, in the words of its parser (distribution/reference). */
function nameProblem(image: string): string | undefined {
  const [first = '', ...rest] = image.split('/')
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  const path = hasRegistry ? rest.join('/') : rest.length === 0 ? `library/${image}` : image
  const [name = ''] = path.split(':')
  if (name !== name.toLowerCase()) {
    return `invalid reference format: repository name (${name}) must be lowercase`
  }
  if (image.length > imageMax || !reference.test(image)) return 'invalid reference format'
  return undefined
}
