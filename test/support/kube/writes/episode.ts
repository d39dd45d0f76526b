/** Episodes: a few writes, one after the other, each with what a kube-apiserver answered. What it
 *  made up is named in them as what it is, so that what we make up is the same. */

import type { AnsweredWrite, AskedWorld, AskedWrite } from './asked-world.ts'

export interface Step extends AskedWrite {
  readonly status: number
  readonly warnings?: readonly string[] | undefined
  /** Left out where only the status counts. */
  readonly answer?: unknown
}

export interface Episode {
  readonly area: string
  readonly steps: readonly Step[]
}

/** The answers to the steps. A body may name the resourceVersion and the uid that were answered
 *  last as `$RV` and `$UID`. */
export async function answersTo(
  steps: readonly AskedWrite[],
  ask: AskedWorld['ask'],
): Promise<AnsweredWrite[]> {
  const answers: AnsweredWrite[] = []
  let [version, uid] = ['', '']
  for (const step of steps) {
    const body = step.body?.replaceAll('$RV', version).replaceAll('$UID', uid)
    const answer = await ask({ ...step, body })
    const { metadata } = answer.body as { readonly metadata?: Readonly<Record<string, string>> }
    version = metadata?.['resourceVersion'] ?? version
    uid = metadata?.['uid'] ?? uid
    answers.push(answer)
  }
  return answers
}

const madeUp: readonly (readonly [RegExp, string])[] = [
  [/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'UID'],
  [/2(?:02[6-9]|1\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z/g, 'TIME'],
  [/("resourceVersion":)"\d+"/g, '$1"VERSION"'],
  // In a message that shows an object.
  [/(resourceVersion\\+":\\+")\d+/g, '$1VERSION'],
  [/(ResourceVersion in (?:record|object meta)[: (]+)\d+/g, '$1VERSION'],
  [/(kube-api-access-)[a-z\d]{5}/g, '$1SUFFIX'],
  [/10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+/g, 'ADDRESS'],
  [/\b3[0-2]\d{3}\b/g, '30000'],
  // The path of the sources depends on the build.
  [/k8s\.io\/kubernetes\/(?=pkg\/)/g, ''],
  [/"token":"[^"]+"/g, '"token":"TOKEN"'],
]

/** The answer without what is made up, and its members in one order. */
export function plainAnswer(answer: unknown): string {
  const text = JSON.stringify(sorted(answer))
  return madeUp.reduce((rest, [pattern, name]) => rest.replace(pattern, name), text)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]))
}
