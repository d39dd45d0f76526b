/** discovery.json: what a kube-apiserver of each minor says of itself. */

import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

export function discoveryFile(
  { groups }: { readonly groups: readonly { readonly name: string }[] },
  wholeVersion: string,
  { minors, whole }: { readonly minors: readonly string[]; readonly whole: string },
): object {
  return {
    groupOrder: groups.map(({ name }) => name),
    versions: Object.fromEntries(
      minors.map(minor => [
        minor,
        minor === whole ? wholeVersion : versionOf(minor, JSON.parse(wholeVersion)),
      ]),
    ),
  }
}

/** The members of /version that were recorded; before 1.33 nothing was emulated. */
function versionOf(minor: string, members: Readonly<Record<string, string>>): string {
  const number = Number(minor.slice(2))
  const own: Readonly<Record<string, string>> = recordedVersion(minor) ?? {
    minor: String(number),
    emulationMinor: String(number),
    minCompatibilityMinor: String(number - 1),
    gitVersion: `v${minor}.0`,
  }
  const lines = Object.entries(members)
    .filter(([name]) => number >= 33 || !/^(?:emulation|minCompatibility)/.test(name))
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(own[name] ?? value)}`)
  return `{\n${lines.join(',\n')}\n}`
}

/** The /version that the recorded server of a minor answered. */
function recordedVersion(minor: string): Readonly<Record<string, string>> | undefined {
  const file = `test/golden/data/${minor}/exchanges.jsonl.gz`
  if (!existsSync(file)) return undefined
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  for (const line of lines) {
    const { request, response } = JSON.parse(line) as {
      readonly request: { readonly path: string; readonly method: string }
      readonly response: { readonly status: number; readonly body: string }
    }
    if (
      /^\/version\/?$/.test(request.path) &&
      request.method === 'GET' &&
      response.status === 200
    ) {
      return JSON.parse(response.body) as Record<string, string>
    }
  }
  return undefined
}
