/** discovery.json: what a kube-apiserver of each minor says of itself. */

import { existsSync, readFileSync } from 'node:fs'

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

/** The version that was recorded, or the first of the minor; before 1.33 nothing was emulated. */
function versionOf(minor: string, members: Readonly<Record<string, string>>): string {
  const number = Number(minor.slice(2))
  const own: Readonly<Record<string, string>> = {
    minor: String(number),
    emulationMinor: String(number),
    minCompatibilityMinor: String(number - 1),
    gitVersion: recordedVersion(minor) ?? `v${minor}.0`,
  }
  const lines = Object.entries(members)
    .filter(([name]) => number >= 33 || !/^(?:emulation|minCompatibility)/.test(name))
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(own[name] ?? value)}`)
  return `{\n${lines.join(',\n')}\n}`
}

/** As `v1.34.9`, if the minor was recorded. */
function recordedVersion(minor: string): string | undefined {
  const file = `test/golden/data/${minor}/meta.json`
  if (!existsSync(file)) return undefined
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly version: { readonly gitVersion: string }
  }
  return version.gitVersion
}
