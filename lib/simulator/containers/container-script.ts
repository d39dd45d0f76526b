/** The script of a container: what its command does, where it is one of those that the built-in
 *  shell knows, or what an annotation says in its place. It is done with a clock of its own, so
 *  that its output, its exit code and the time that it takes are known at once, and are the same
 *  whenever they are asked for. No program is run. */

import { runCommand, isKnownCommand, NoSuchCommand, scriptMax } from '../streams/shell.ts'
import { type ContainerWithEnv, shellContainer } from '../streams/shell-container.ts'

/** The script of the containers of a pod, a line of the shell; with `.NAME` at its end, of one. */
export const scriptAnnotation = 'watchglass.local/script'

export interface ScriptedContainer extends ContainerWithEnv {
  readonly image?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
}

interface AnnotatedPod {
  readonly metadata: {
    readonly name: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: {
    readonly restartPolicy?: string
    readonly initContainers?: readonly { readonly name: string }[]
  }
}

export interface ScriptRun {
  /** Texts in the order in which they are written, with the time since the start. */
  readonly written: readonly { readonly afterMs: number; readonly text: string }[]
  readonly exitCode: number
  /** Infinite for a script that never ends. */
  readonly endsAfterMs: number
}

/** Output beyond it is lost, as that of a container whose log is full. */
const writtenMax = 1024 * 1024

/** The image whose program does nothing until it is told to end. */
const pauseImage = /(?:^|\/)pause(?:[:@]|$)/

/** Undefined: nothing is known of what the container does: it runs on, or, in a pod that is to end,
 *  ends by itself. */
export function scriptOf(
  { metadata, spec }: AnnotatedPod,
  { name, image = '', command = [], args = [] }: ScriptedContainer,
): readonly string[] | undefined {
  const { annotations = {} } = metadata
  const isInit = spec.initContainers?.some(one => one.name === name) === true
  const script =
    annotations[`${scriptAnnotation}.${name}`] ??
    (isInit ? undefined : annotations[scriptAnnotation])
  if (script !== undefined) return ['sh', '-c', script.slice(0, scriptMax)]
  const argv = [...command, ...args]
  // Pods that are always restarted run on anyway, and cost less without a script.
  const isToEnd = (spec.restartPolicy ?? 'Always') !== 'Always'
  if (argv.length === 0 && isToEnd && pauseImage.test(image)) return ['sleep', 'infinity']
  return argv.length > 0 && isKnownCommand(argv) ? argv : undefined
}

/** The run of a container's script; undefined if it has none.
 *  @param startedAt the time that its commands see */
export async function scriptRun(
  pod: AnnotatedPod,
  container: ScriptedContainer,
  startedAt: string,
): Promise<ScriptRun | undefined> {
  const argv = scriptOf(pod, container)
  return argv && scriptRunOf(argv, pod, container, startedAt)
}

/** The run of a command in a container. */
export async function scriptRunOf(
  argv: readonly string[],
  pod: AnnotatedPod,
  container: ScriptedContainer,
  startedAt: string,
): Promise<ScriptRun> {
  const startedMs = Date.parse(startedAt) || 0
  const written: { afterMs: number; text: string }[] = []
  let [afterMs, length] = [0, 0]
  const write = (text: string): void => {
    if (text === '' || length >= writtenMax || afterMs === Infinity) return
    length += text.length
    written.push({ afterMs, text: text.slice(0, writtenMax) })
  }
  const streams = {
    out: write,
    err: write,
    input: noInput(),
    isTerminal: false,
    now: () => new Date(startedMs + Math.min(afterMs, 1e12)),
    sleep: (ms: number) => {
      afterMs += ms
      return Promise.resolve()
    },
  }
  try {
    // The answers of an annotation are those to `kubectl exec`.
    const shell = { ...shellContainer(pod, container), answers: undefined }
    const exitCode = await runCommand(argv, streams, shell)
    return { written, exitCode, endsAfterMs: afterMs }
  } catch (error) {
    if (!(error instanceof NoSuchCommand)) throw error
    return { written, exitCode: 127, endsAfterMs: afterMs }
  }
}

async function* noInput(): AsyncIterable<string> {}
