/** kwok's own example stages, with what kwok says that each does: `kustomize/stage` of its public
 *  repository, in the folder that WATCHGLASS_KWOK_STAGES names. They are kept outside of this
 *  repository, and are skipped where they are not. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { listOf, memberAt, objectOf } from '../../../lib/base/untyped.ts'
import type { JqValue } from '../../../lib/simulator/jq/values.ts'
import { StageSubject } from '../../../lib/simulator/stages/expressions.ts'
import { type LifecycleStage, stageOf } from '../../../lib/simulator/stages/stage.ts'
import { stageFunctionNames, stageFunctions } from '../../../lib/simulator/stages/functions.ts'
import type { Action } from '../../../lib/simulator/stages/steps.ts'

const folder = process.env['WATCHGLASS_KWOK_STAGES'] ?? ''
const skip = existsSync(folder) ? false : 'WATCHGLASS_KWOK_STAGES names no folder'

/** As kwok's own test shows them. */
const marked = Object.fromEntries(
  [...stageFunctionNames]
    .filter(name => name !== 'NodeConditions')
    .map(name => [name, (...args: readonly unknown[]) => markOf(name, args)]),
)
const several = ['NodeIPsWith', 'PodIPsWith'].map(
  name =>
    [
      name,
      (...args: readonly unknown[]) =>
        [0, 1].map(i => markOf(name, args).replace('<', `<${String(i)} of `)),
    ] as const,
)

function markOf(name: string, args: readonly unknown[]): string {
  const shown = args.map(one => JSON.stringify(one)).join(', ')
  return args.length === 0 ? `<${name}>` : `<${name}(${shown})>`
}

function shownAction(action: Action): object {
  switch (action.type) {
    case 'event':
      return { kind: 'event', ...action.event }
    case 'delete':
      return { kind: 'delete' }
    case 'patch':
    case 'apply': {
      const { subresource, patchType } = action
      const data: unknown = action.type === 'patch' ? JSON.parse(action.body) : action.object
      const type = {
        json: 'application/json-patch+json',
        merge: 'application/merge-patch+json',
        // kwok's test reads objects without their types, its controllers with them.
        strategic: 'application/merge-patch+json',
        apply: 'application/apply-patch+yaml',
      }[patchType]
      const part = subresource === '' ? {} : { subresource }
      return { kind: action.type, data, type, ...part }
    }
  }
}

function shownStage(stage: LifecycleStage, subject: StageSubject): object {
  const functions = { ...marked, ...Object.fromEntries(several), NodeConditions: () => conditions }
  const nowMs = Date.parse('2006-01-02T15:04:05Z')
  const delays = [0, 1].map(share => stage.delayMs(subject, nowMs, share) * 1e6)
  const next = stage.steps.flatMap(step => step(subject.object, functions))
  return {
    stage: stage.name,
    delay: [...new Set(delays)],
    weight: stage.weight(subject),
    next: next.map(shownAction),
  }
}

const conditions = stageFunctions({
  nowMs: 0,
  startedMs: 0,
  version: '',
  name: '',
  addressOfNode: () => '',
  podAddress: () => '',
  draw: () => 0,
})['NodeConditions']?.()

function stagesIn(path: string): LifecycleStage[] {
  return readdirSync(path)
    .filter(name => name.endsWith('.yaml'))
    .flatMap(name => parseAllDocuments(readFileSync(join(path, name), 'utf8')))
    .map(document => document.toJS() as unknown)
    .filter(object => memberAt(object, ['kind']) === 'Stage')
    .flatMap(object => stageOf(object) ?? [])
}

t.test("kwok's examples do what kwok says", { skip }, async t => {
  const inputs = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.input.yaml'))
    .map(name => join(folder, name))
  t.ok(inputs.length > 10, 'there are examples')
  for (const input of inputs) {
    const object = parse(readFileSync(input, 'utf8')) as JqValue
    const wanted: unknown = parse(readFileSync(input.replace('.input.', '.output.'), 'utf8'))
    const kind = memberAt(object, ['kind'])
    const subject = new StageSubject(object)
    const matching = stagesIn(dirname(dirname(input)))
      .filter(stage => stage.kind === kind && stage.matches(subject))
      .map(stage => shownStage(stage, subject))
    const expected = listOf(objectOf(wanted)['stages']).map(stage => ({
      delay: [0],
      ...objectOf(stage),
    }))
    t.same(
      JSON.parse(JSON.stringify(matching)),
      JSON.parse(JSON.stringify(expected)),
      basename(input),
    )
  }
})
