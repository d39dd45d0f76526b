/** kwok's objects that say what simulated pods answer: logs, what `attach` shows, the environment
 *  of `exec`, where ports lead, figures. They come from files of whoever starts the server, never
 *  from a client, because they name files and addresses of this machine. No program is run for
 *  them. */

import {
  isObject,
  listOf,
  memberAt,
  objectOf,
  textOf,
  textsOf,
  type UntypedObject,
} from '@watchglass/base'
import { quantityOf } from '../quantities.ts'
import { type LogFile, logFileOf } from './log-file.ts'
import { RuleProblem } from './rule-problem.ts'
import { type Rule, RuleSet } from './rule-set.ts'
import { figureOf, type Figure } from './figures.ts'

export const ruleApiVersion = 'kwok.x-k8s.io/v1alpha1'

export interface LogRule extends Rule {
  readonly log: LogFile | undefined
  readonly previous: LogFile | undefined
}

export interface ExecRule extends Rule {
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
}

/** The names of the rule are ports. */
export interface ForwardRule extends Rule {
  readonly address: string
  readonly port: number
}

export interface UsageRule extends Rule {
  /** A resource that no rule gives is not used, as in kwok. */
  readonly cpu: Figure | undefined
  readonly memory: Figure | undefined
}

/** The text of a file that a rule names. Throws with the reason. */
export type ReadRuleFile = (path: string) => string

/** The plural member of the specification of each kind, without `Cluster`. */
const members: Readonly<Record<string, string>> = {
  Logs: 'logs',
  Attach: 'attaches',
  Exec: 'execs',
  PortForward: 'forwards',
  ResourceUsage: 'usages',
}

/** Kinds of kwok that nothing here can do, and why. */
const leftOut: Readonly<Record<string, string>> = {
  Metric:
    'kwok serves it at a port of a node, and simulated nodes have no ports: kubectl top and metrics.k8s.io have the figures of ResourceUsage',
}

const rulesMax = 10_000

export class PodRules {
  readonly logs: RuleSet<LogRule> = new RuleSet()
  readonly attaches: RuleSet<LogRule> = new RuleSet()
  readonly execs: RuleSet<ExecRule> = new RuleSet()
  readonly forwards: RuleSet<ForwardRule> = new RuleSet()
  readonly usages: RuleSet<UsageRule> = new RuleSet()
  /** Parts of what was given that are left out, in words. */
  readonly warnings: string[] = []
  readonly #read: ReadRuleFile
  #count = 0

  constructor(read: ReadRuleFile) {
    this.#read = read
  }

  /** Takes an object; false if it is of no kind that says what pods answer. Throws
   *  `RuleProblem`. */
  take(object: UntypedObject): boolean {
    const { apiVersion, kind: fullKind } = object
    if (apiVersion !== ruleApiVersion) return false
    const isOfCluster = textOf(fullKind).startsWith('Cluster')
    const kind = textOf(fullKind).replace(/^Cluster/, '')
    const named = `${textOf(fullKind)} ${textOf(memberAt(object, ['metadata', 'name']))}`
    if (Object.hasOwn(leftOut, kind)) {
      this.warnings.push(`${named} is left out: ${leftOut[kind] ?? ''}`)
      return true
    }
    if (!Object.hasOwn(members, kind)) return false
    if (++this.#count > rulesMax) {
      throw new RuleProblem(`there are more than ${String(rulesMax)} objects with rules for pods`)
    }
    const member = members[kind] ?? ''
    const list = listOf(memberAt(object, ['spec', member]))
    for (const [i, rule] of list.entries()) {
      if (isObject(rule)) continue
      throw new RuleProblem(`${named}: spec.${member}[${String(i)}] is no object`)
    }
    try {
      this.#add(kind, { object, isOfCluster, rules: list as readonly UntypedObject[], named })
    } catch (error) {
      if (!(error instanceof RuleProblem)) throw error
      throw new RuleProblem(`${named}: ${error.message}`, { cause: error })
    }
    return true
  }

  #add(kind: string, { object, isOfCluster, rules, named }: Given): void {
    switch (kind) {
      case 'Logs':
        this.logs.add(object, isOfCluster, rules.map(this.#logRule))
        return
      case 'Attach':
        this.attaches.add(object, isOfCluster, rules.map(this.#logRule))
        return
      case 'ResourceUsage':
        this.usages.add(object, isOfCluster, rules.map(usageRule))
        return
      case 'PortForward':
        this.forwards.add(object, isOfCluster, rules.map(forwardRule))
        return
      case 'Exec':
        this.execs.add(object, isOfCluster, rules.map(execRule))
        this.warnings.push(
          `${named}: no program of this machine is run for a pod: only "envs" and "workDir" count, and what commands say is the annotation watchglass.local/exec of the pod`,
        )
    }
  }

  readonly #logRule = ({ containers, logsFile, previousLogsFile }: UntypedObject): LogRule => ({
    names: textsOf(containers),
    log: this.#file(logsFile),
    previous: this.#file(previousLogsFile),
  })

  #file(path: unknown): LogFile | undefined {
    if (path === undefined || path === null || path === '') return undefined
    if (typeof path !== 'string') throw new RuleProblem('the name of a file is no text')
    try {
      return logFileOf(this.#read(path))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new RuleProblem(`${path} cannot be used as a log: ${reason}`, { cause: error })
    }
  }
}

interface Given {
  readonly object: UntypedObject
  readonly isOfCluster: boolean
  readonly rules: readonly UntypedObject[]
  readonly named: string
}

function forwardRule({ ports, target, command }: UntypedObject, i: number): ForwardRule {
  const place = `spec.forwards[${String(i)}]`
  if (listOf(command).length > 0) {
    throw new RuleProblem(
      `${place}.command names a program, and none is run for a pod: give a target where one listens`,
    )
  }
  const { address, port } = objectOf(target)
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65536
  if (typeof address !== 'string' || address === '' || !isPort) {
    throw new RuleProblem(`${place}.target needs an address and a port`)
  }
  return { names: listOf(ports).map(String), address, port }
}

function execRule({ containers, local }: UntypedObject): ExecRule {
  const { envs, workDir } = objectOf(local)
  const env = listOf(envs).map(one => {
    const { name, value } = objectOf(one)
    return [textOf(name), textOf(value)] as const
  })
  return { names: textsOf(containers), env: Object.fromEntries(env), folder: textOf(workDir) }
}

function usageRule({ containers, usage }: UntypedObject): UsageRule {
  const figures = objectOf(usage)
  return {
    names: textsOf(containers),
    cpu: figure('cpu', figures['cpu']),
    memory: figure('memory', figures['memory']),
  }
}

/** The quantity that is written down, or else what the expression gives. */
function figure(resource: string, rule: unknown): Figure | undefined {
  if (rule === undefined || rule === null) return undefined
  const { value, expression } = objectOf(rule)
  if (typeof value === 'string' || typeof value === 'number') {
    const fixed = quantityOf(String(value))
    return () => fixed
  }
  if (typeof expression === 'string') return figureOf(expression)
  throw new RuleProblem(`usage.${resource} has neither a value nor an expression`)
}
