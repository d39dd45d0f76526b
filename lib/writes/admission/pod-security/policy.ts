/** The policies that the labels of a namespace ask for (Pod Security Admission): what is enforced,
 *  what is audited, and what is warned of. */

import type { JsonObject } from '@watchglass/go'
import { type FieldError, invalid } from '../../field-errors.ts'
import { textOf } from '../../metadata.ts'

export type Level = 'privileged' | 'baseline' | 'restricted'

export interface LevelVersion {
  readonly level: Level
  /** A minor of 1.x, or the latest. */
  readonly version: number | 'latest'
}

export interface PodSecurityModes {
  readonly enforce: LevelVersion
  readonly audit: LevelVersion
  readonly warn: LevelVersion
}

const levels: readonly string[] = ['privileged', 'baseline', 'restricted']
const prefix = 'pod-security.kubernetes.io/'

/** The text of a policy in messages. */
export function policyText({ level, version }: LevelVersion): string {
  return `${level}:${version === 'latest' ? version : `v1.${version}`}`
}

/** The policy that the labels ask for, and what is wrong with them. */
export function policyOf(labels: JsonObject): {
  readonly policy: PodSecurityModes
  readonly errors: readonly FieldError[]
} {
  const errors: FieldError[] = []
  const modeOf = (mode: string, fallback: Level): LevelVersion => {
    const level = labels.get(prefix + mode)
    const version = labels.get(`${prefix}${mode}-version`)
    return {
      level: level === undefined ? 'privileged' : levelOf(textOf(level), mode, fallback, errors),
      version: version === undefined ? 'latest' : versionOf(textOf(version), mode, errors),
    }
  }
  // What is wrong with a label fails closed where it is enforced, and open elsewhere.
  const enforce = modeOf('enforce', 'restricted')
  const audit = modeOf('audit', 'privileged')
  const warn = modeOf('warn', 'privileged')
  const isEnforced = levels.includes(textOf(labels.get(`${prefix}enforce`)))
  if (labels.has(`${prefix}warn`) || !isEnforced || enforce.level === 'privileged') {
    return { policy: { enforce, audit, warn }, errors }
  }
  const hasVersion = labels.has(`${prefix}warn-version`)
  const version = hasVersion ? warn.version : enforce.version
  return { policy: { enforce, audit, warn: { level: enforce.level, version } }, errors }
}

function levelOf(text: string, mode: string, fallback: Level, errors: FieldError[]): Level {
  if (levels.includes(text)) return text as Level
  const field = `metadata.labels[${prefix}${mode}]`
  errors.push(invalid(field, text, `must be one of ${levels.join(', ')}`))
  return fallback
}

function versionOf(text: string, mode: string, errors: FieldError[]): LevelVersion['version'] {
  if (text === 'latest') return text
  const minor = /^v1\.(\d|[1-9]\d{1,8})$/.exec(text)?.[1]
  if (minor !== undefined) return Number(minor)
  const field = `metadata.labels[${prefix}${mode}-version]`
  errors.push(invalid(field, text, 'must be "latest" or "v1.x"'))
  return 'latest'
}

/** Negative if the first is less strict. */
export function compareLevels(a: Level, b: Level): number {
  return levels.indexOf(a) - levels.indexOf(b)
}
