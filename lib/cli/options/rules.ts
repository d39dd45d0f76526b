/** Reads the values of options by their rows, and checks the rules of the rows. */

import { invalid } from './invalid.ts'
import type {
  OptionCondition,
  DefaultedOption,
  Option,
  OptionRule,
  ParsedOption,
} from './option.ts'
import { listed, type OptionValues } from './option-values.ts'

/** The value of an option; undefined if it has none. */
export function valueOf<Value>(values: OptionValues, option: DefaultedOption<Value>): Value
export function valueOf<Value>(values: OptionValues, option: ParsedOption<Value>): Value | undefined
export function valueOf<Value>(
  values: OptionValues,
  option: ParsedOption<Value>,
): Value | undefined {
  const text = values.text(option.name) ?? option.fallback
  return text === undefined ? undefined : parsed(option, text)
}

/** The values of an option that may be given more than once, each as one text. */
export function valuesOf<Value>(values: OptionValues, option: ParsedOption<Value>): Value[] {
  return values.all(option.name).map(text => parsed(option, text))
}

/** The values of an option that may also be separated by commas. */
export function listedValuesOf<Value>(values: OptionValues, option: ParsedOption<Value>): Value[] {
  return listed(values, option.name).map(text => parsed(option, text))
}

function parsed<Value>({ name, parse, wrong }: ParsedOption<Value>, text: string): Value {
  const value = parse(text)
  if (value === undefined) throw invalid(`--${name} "${text}" ${wrong}`)
  return value
}

/** Refuses values that break a rule of one of these options. */
export function checkRules(values: OptionValues, options: readonly Option[]): void {
  for (const option of options) {
    for (const rule of option.needs ?? []) {
      if (concerns(rule, option, values) && !rule.that.holds(values)) {
        throw refusal('needs', option, rule)
      }
    }
    for (const rule of option.excludes ?? []) {
      if (concerns(rule, option, values) && rule.that.holds(values)) {
        throw refusal('goes without', option, rule)
      }
    }
  }
}

function concerns({ of }: OptionRule, { name, fallback }: Option, values: OptionValues): boolean {
  if (of !== undefined) return of.holds(values)
  return given(name).holds(values) && values.text(name) !== fallback
}

function refusal(
  verb: 'needs' | 'goes without',
  { name }: Option,
  { of, that, because, says }: OptionRule,
): Error {
  const sentence = says ?? `${verb} ${that.text}${because === undefined ? '' : `: ${because}`}`
  return invalid(`${of?.text ?? `--${name}`} ${sentence}`)
}

/** True if the option has a value, or the switch is on. */
export function given(name: string): OptionCondition {
  return {
    text: `--${name}`,
    holds: values => values.text(name) !== undefined && values.text(name) !== 'false',
  }
}

export function all(...conditions: readonly OptionCondition[]): OptionCondition {
  return {
    text: conditions.map(({ text }) => text).join(' and '),
    holds: values => conditions.every(one => one.holds(values)),
  }
}

/** True if the option has this value. */
export function is(name: string, value: string): OptionCondition {
  return { text: `--${name} ${value}`, holds: values => values.text(name) === value }
}

/** The options as a rule of several begins: it concerns whoever gives one of them. */
export function either(...names: readonly string[]): OptionCondition {
  return {
    text: names.map(name => `--${name}`).join(' and '),
    holds: values => names.some(name => given(name).holds(values)),
  }
}

/** The rule of a certificate and its key: neither is given without the other. */
export function together(...names: readonly string[]): OptionRule {
  return { of: either(...names), that: all(...names.map(given)), says: 'must be given together' }
}

/** A row's values, of which there is a list. */
export function oneOf<const Name extends string>(
  ...choices: readonly Name[]
): Pick<ParsedOption<Name>, 'choices' | 'parse' | 'wrong'> {
  const [last = '', ...before] = choices.toReversed()
  return {
    choices,
    parse: text => choices.find(choice => choice === text),
    wrong: `is not ${before.toReversed().join(', ')} or ${last}`,
  }
}
