/** Makes the checks of a view: for each rule that it does not apply itself (default-rules.ts),
 *  source that is true whenever the rule could change the message, which is then not exact. For
 *  what a kube-apiserver wrote none is ever true, as it has applied the rule before it wrote. */

import type { MessageType } from '../../schema/schema.ts'
import type { Scope } from '../../transcode/decode/decoders.ts'
import {
  type DefaultRule,
  computationKey,
  isAppliedBy,
  isHere,
  labelsRuleOf,
  rulesOf,
} from '../default-rules.ts'
import { conditionSource, fieldOf, numbersOf, zeroSource } from './conditions.ts'

/** Source that gives up if a default that the view does not apply could change the message, and
 *  finds the labels of the object where they are those of another message. */
export function checksOf(type: MessageType, scope: Scope, isObject: boolean): string {
  const sources = rulesOf(type)
    .filter(rule => isChecked(rule) && isHere(rule, scope.root, scope.place))
    .map(rule => {
      const what = JSON.stringify(`${type.name}, ${rule.id ?? rule.field ?? ''}`)
      return `if (${checkSource(type, rule)}) couldApply(${what});`
    })
  const labels = isObject ? labelsRuleOf(type) : undefined
  if (labels !== undefined) {
    sources.push(`findLabels(O, s, e, ${JSON.stringify(numbersOf(type, labels.fromPath))});`)
  }
  return sources.join('\n')
}

function isChecked(rule: DefaultRule): boolean {
  return (
    rule.isChecked !== false &&
    !isAppliedBy(rule, 'view') &&
    rule.conditions.every(({ state }) => state !== 'empty')
  )
}

function checkSource(type: MessageType, rule: DefaultRule): string {
  const condition = conditionSource(type, rule)
  const change = changeSource(type, rule)
  return condition === 'true' ? change : `${condition} && ${change}`
}

/** Source that is true if what the rule makes of the field is another thing than what is stored. */
function changeSource(type: MessageType, rule: DefaultRule): string {
  const { compute, fieldPath, firstOf, fromPath, keysPath, mirrors } = rule
  const [name] = fieldPath
  if (name === undefined) return `wouldChange(O, s, e, ${JSON.stringify(computationKey(rule))})`
  if (keysPath.length > 0) return missingKeysSource(type, rule)
  if (mirrors !== undefined) {
    return `!isSame(O, ${windowSource(type, mirrors)}, ${windowSource(type, name)})`
  }
  if (firstOf !== undefined) return otherFirstSource(type, rule, firstOf)
  const zero = rule.hasOwnCondition ? 'true' : `(${zeroSource(type, fieldPath)})`
  if (fromPath.length === 0 || compute !== undefined) return zero
  return `${zero} && !(${zeroSource(type, fromPath)})`
}

function windowSource(type: MessageType, name: string): string {
  const { number } = fieldOf(type, name)
  return `{ start: a${number}, end: z${number} }`
}

/** The two maps lie in the message itself, or in one that it holds. */
function missingKeysSource(type: MessageType, { fieldPath, keysPath }: DefaultRule): string {
  const [to, from] = [numbersOf(type, fieldPath), numbersOf(type, keysPath)]
  const [holder] = to
  const window = to.length === 1 ? 's, e' : `a${holder}, z${holder}`
  return `lacksKeys(O, ${window}, ${from.at(-1)}, ${to.at(-1)})`
}

function otherFirstSource(
  type: MessageType,
  { fieldPath: [name = ''], member }: DefaultRule,
  one: string,
): string {
  const list = fieldOf(type, name)
  const number =
    member === undefined ? 0 : fieldOf(type.schema.messageType(list.type), member).number
  const items = `{ start: a${list.number}, end: z${list.number} }`
  return `isOtherFirst(O, ${windowSource(type, one)}, ${items}, ${number})`
}
