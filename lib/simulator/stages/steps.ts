/** The steps of a stage: events, patches, finalizers, objects that are applied, and the end of the
 *  object. Rendered for an object, they are actions; nothing is done here. */

import {
  atOnce,
  isObject,
  listOf,
  memberAt,
  objectOf,
  textOf,
  textsOf,
  type UntypedObject,
} from '@watchglass/base'
import { textInOrder } from '@watchglass/go'
import type { JqValue } from '../jq/values.ts'
import { type GivenFunctions, Template } from '../templates/template.ts'
import { TemplateProblem } from '../templates/problem.ts'
import { DecodeError, parseYaml } from '@watchglass/writes'
import { stageFunctionNames } from './functions.ts'
import { StageProblem } from './stage-problem.ts'

export type StagePatchType = 'json' | 'merge' | 'strategic' | 'apply'

export type Action =
  | { readonly type: 'event'; readonly event: StageEvent }
  | {
      readonly type: 'patch'
      readonly patchType: StagePatchType
      readonly subresource: string
      /** JSON. */
      readonly body: string
    }
  | {
      /** Another object, made or changed. */
      readonly type: 'apply'
      readonly patchType: StagePatchType
      readonly subresource: string
      readonly object: UntypedObject
    }
  | { readonly type: 'delete' }

export interface StageEvent {
  readonly type: string
  readonly reason: string
  readonly message: string
}

/** The actions for an object. Throws `TemplateProblem`. */
export type StageStep = (object: JqValue, functions: GivenFunctions) => readonly Action[]

export function stepsOf(spec: UntypedObject): readonly StageStep[] {
  const steps = listOf(spec['steps'])
  const all = steps.length > 0 ? steps.map(objectOf) : stepsOfNext(objectOf(spec['next']))
  return all.map(step => stepOf(step, textOf(memberAt(spec, ['resourceRef', 'kind']))))
}

/** The older form, in which there is one of each. */
function stepsOfNext(next: UntypedObject): UntypedObject[] {
  const { event, finalizers, patches, statusTemplate, statusSubresource } = next
  const ofStatus = {
    root: 'status',
    subresource: textOf(statusSubresource ?? 'status'),
    template: statusTemplate,
  }
  const given = listOf(patches).map(objectOf)
  const others = textOf(statusTemplate) === '' ? [] : [ofStatus]
  return [
    ...(isObject(event) ? [{ event }] : []),
    ...(isObject(finalizers) ? [{ finalizers }] : []),
    ...(given.length > 0 ? given : others).map(patch => ({ patch })),
    ...(next['delete'] === true ? [{ delete: true }] : []),
  ]
}

function stepOf(step: UntypedObject, kind: string): StageStep {
  const { event, finalizers, patch, apply } = step
  const parts: StageStep[] = []
  if (isObject(event)) {
    const { type, reason, message } = event
    const told = { type: textOf(type), reason: textOf(reason), message: textOf(message) }
    parts.push(() => [{ type: 'event', event: told }])
  }
  if (isObject(finalizers)) parts.push(finalizersStep(finalizers))
  if (step['delete'] === true) parts.push(() => [{ type: 'delete' }])
  else {
    if (isObject(patch)) parts.push(patchStep(patch, kind))
    if (isObject(apply)) parts.push(applyStep(apply))
  }
  return (object, functions) => parts.flatMap(part => part(object, functions))
}

function patchStep(patch: UntypedObject, kind: string): StageStep {
  const [root, subresource] = [textOf(patch['root']), textOf(patch['subresource'])]
  const render = renderer(patch['template'])
  const patchType = patchTypeOf(patch['type'], isTyped(kind) ? 'strategic' : 'merge')
  return (object, functions) => {
    const json = render(object, functions)
    const body = patchType === 'json' ? belowRoot(json, root) : wrapped(json, root)
    return [{ type: 'patch', patchType, subresource, body }]
  }
}

/** Kinds whose lists are merged by their keys, unless a patch says otherwise. */
function isTyped(kind: string): boolean {
  return kind === 'Pod' || kind === 'Node'
}

function patchTypeOf(type: unknown, otherwise: StagePatchType): StagePatchType {
  const name = textOf(type)
  if (name === '') return otherwise
  if (name === 'json' || name === 'merge' || name === 'strategic' || name === 'apply') return name
  throw new StageProblem(`the type of patches ${JSON.stringify(name)} is not known`)
}

function wrapped(json: string, root: string): string {
  return root === '' ? json : `{${JSON.stringify(root)}:${json}}`
}

function belowRoot(json: string, root: string): string {
  if (root === '') return json
  const operations = listOf(JSON.parse(json)).map(objectOf)
  return JSON.stringify(operations.map(one => ({ ...one, path: `/${root}${textOf(one['path'])}` })))
}

function applyStep(apply: UntypedObject): StageStep {
  const render = renderer(apply['template'])
  const patchType = patchTypeOf(apply['type'], 'apply')
  const subresource = textOf(apply['subresource'])
  if (patchType === 'json') throw new StageProblem('apply takes no patch of type json')
  return (object, functions) => {
    const applied = objectOf(JSON.parse(render(object, functions)))
    if (textOf(applied['kind']) === '' || textOf(applied['apiVersion']) === '') {
      throw new TemplateProblem('what is applied needs apiVersion and kind')
    }
    return [{ type: 'apply', patchType, subresource, object: applied }]
  }
}

/** The JSON that a template of YAML makes. */
function renderer(template: unknown): (object: JqValue, functions: GivenFunctions) => string {
  const read = new Template(textOf(template), stageFunctionNames)
  return (object, functions) => {
    const yaml = read.render(object, functions)
    try {
      return textInOrder(atOnce(parseYaml(Buffer.from(yaml))).value)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new TemplateProblem(error.message, { cause: error })
    }
  }
}

function finalizersStep(finalizers: UntypedObject): StageStep {
  const valuesOf = (member: string): string[] =>
    listOf(finalizers[member]).map(one => textOf(objectOf(one)['value']))
  const [added, removed] = [valuesOf('add'), valuesOf('remove')]
  const isEmptied = finalizers['empty'] === true
  return object => {
    const known = textsOf(memberAt(object, ['metadata', 'finalizers']))
    const kept = isEmptied ? [] : known.filter(one => !removed.includes(one))
    const wanted = [...kept, ...added.filter(one => !kept.includes(one))]
    if (wanted.join('\n') === known.join('\n')) return []
    const body = JSON.stringify({ metadata: { finalizers: wanted } })
    return [{ type: 'patch', patchType: 'merge', subresource: '', body }]
  }
}
