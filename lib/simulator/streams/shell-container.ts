/** A container as commands in it know it: its environment and its working directory. */

import { execAnnotation, type ShellContainer } from './shell.ts'

export interface ContainerWithEnv {
  readonly name: string
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
}

interface OwnPod {
  readonly metadata: {
    readonly name: string
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** The parts that a declared rule has. */
interface DeclaredParts {
  readonly env?: Readonly<Record<string, string>>
  readonly folder?: string
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function shellContainer(
  { metadata }: OwnPod,
  { name, env = [] }: ContainerWithEnv,
  { env: declared = {}, folder = '' }: DeclaredParts = {},
): ShellContainer {
  const own = env.flatMap(({ name: key, value }) => (value === undefined ? [] : [[key, value]]))
  return {
    pod: metadata.name,
    name,
    env: {
      PATH: path,
      HOSTNAME: metadata.name,
      ...(Object.fromEntries(own) as object),
      HOME: '/root',
      ...declared,
    },
    folder: folder === '' ? '/' : folder,
    answers: metadata.annotations?.[execAnnotation],
  }
}
