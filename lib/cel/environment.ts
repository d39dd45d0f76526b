/** The language as Kubernetes has it: which libraries, macros and checks a minor version has. */

import { check, type Names } from './checker.ts'
import { compileChecked, type Program } from './compiler.ts'
import { estimateCost } from './cost/estimate.ts'
import type { Range, SizeAt } from './cost/ranges.ts'
import { type Functions, functionsOf, type Implementation, type Library } from './declarations.ts'
import { authorizersOf } from './functions/authorizers.ts'
import { conversions } from './functions/conversions.ts'
import { type FormatChecks, formatsOf } from './functions/formats.ts'
import { listExtensions, listFunctions, sets, twoVariables } from './functions/lists.ts'
import { moments } from './functions/moments.ts'
import { addresses, prefixes } from './functions/networks.ts'
import { optionalLists, optionals } from './functions/optionals.ts'
import { patches, structNamed } from './functions/patches.ts'
import { quantities, semvers } from './functions/quantities.ts'
import { standard } from './functions/standard.ts'
import { regexes, texts } from './functions/texts.ts'
import { urls } from './functions/urls.ts'
import {
  bindMacros,
  listMacros,
  type Macros,
  optionalMacros,
  standardMacros,
  twoVariableMacros,
} from './macros.ts'
import { parse } from './parser.ts'
import { Problems } from './problems.ts'
import { type CelType, TypeTooLarge } from './types.ts'
import { validate } from './validators.ts'
import { partsOf, type Expr } from './ast.ts'

/** A compiled expression, or what is wrong with it. */
export type Compilation =
  | { readonly problems: string; readonly expression?: undefined }
  | { readonly expression: CompiledExpression; readonly problems?: undefined }

/** An expression that runs. */
export interface CompiledExpression extends Program {
  readonly type: CelType
  /** The cost that it may have, where variables have these sizes. */
  readonly estimate: (sizeAt: SizeAt) => Range
  /** True if it names the variable. */
  readonly uses: (variable: string) => boolean
}

/** The parts of a language beside those that every CEL has. */
export interface EnvironmentParts {
  readonly libraries: readonly Library[]
  readonly macros: Macros
  /** Constants and mixed literals are checked. */
  readonly isStrict: boolean
  readonly container?: string
  /** Structs that expressions can make. */
  readonly typeNamed?: (name: string) => CelType | undefined
}

export class Environment {
  readonly #functions: Functions
  readonly #implementations: ReadonlyMap<string, Implementation>
  readonly #parts: EnvironmentParts

  constructor(parts: EnvironmentParts) {
    const libraries = [standard, conversions, moments, ...parts.libraries]
    this.#parts = parts
    this.#functions = functionsOf(libraries)
    this.#implementations = new Map(
      libraries.flatMap(({ implementations }) => Object.entries(implementations)),
    )
  }

  /** Compiles an expression in which the variables have these types. */
  compile(source: string, variables: ReadonlyMap<string, CelType>): Compilation {
    const problems = new Problems(source)
    const { macros, isStrict, container = '', typeNamed } = this.#parts
    const expr = parse(source, macros, problems)
    if (expr === undefined) return { problems: problems.toString() }
    const names: Names = {
      functions: this.#functions,
      variables,
      container,
      typeNamed,
      areLiteralsMixed: true,
    }
    try {
      const type = check(expr, names, problems)
      if (problems.isEmpty && isStrict) validate(expr, problems)
      if (!problems.isEmpty) return { problems: problems.toString() }
      return { expression: this.#expression(expr, type, variables) }
    } catch (error) {
      if (!(error instanceof TypeTooLarge)) throw error
      problems.add(undefined, error.message)
      return { problems: problems.toString() }
    }
  }

  #expression(
    expr: Expr,
    type: CelType,
    variables: ReadonlyMap<string, CelType>,
  ): CompiledExpression {
    const program = compileChecked(expr, variables.keys(), {
      implementations: this.#implementations,
      functions: this.#functions,
    })
    return {
      ...program,
      type,
      estimate: sizeAt => estimateCost(expr, sizeAt),
      uses: variable => names(expr, variable),
    }
  }
}

function names(expr: Expr, variable: string): boolean {
  const isName = expr.kind === 'ident' || expr.kind === 'select'
  if (isName && expr.overloads[0] === variable) return true
  return partsOf(expr).some(part => names(part, variable))
}

/** The libraries by the minor version of 1 that has them first. */
const libraries: readonly (readonly [minor: number, ...Library[]])[] = [
  [0, urls, regexes, listFunctions],
  [28, optionals, quantities],
  [29, texts, sets],
  [30, addresses, prefixes],
  [32, twoVariables],
  // The version of cel-go decides about these, not the one of Kubernetes that is compatible.
  [33, semvers, optionalLists],
  [34, listExtensions],
]

const macros: readonly (readonly [minor: number, Macros])[] = [
  [0, standardMacros],
  [28, optionalMacros],
  [32, twoVariableMacros],
  [34, listMacros],
]

/** The language of a server of version 1.`minor`. It accepts in what is new what the version
 *  before accepts, so that either can read what is stored. */
export function kubernetesEnvironment(minor: number, formats: FormatChecks = {}): Environment {
  return new Environment(kubernetesParts(minor, formats))
}

/** The language of mutations: it makes objects and operations of patches, too. */
export function mutationEnvironment(minor: number, formats: FormatChecks): Environment {
  const parts = kubernetesParts(minor, formats)
  const libraries = [...parts.libraries, patches]
  return new Environment({ ...parts, libraries, typeNamed: structNamed })
}

/** The language that chooses devices: values can have names in it. */
export function deviceEnvironment(minor: number, formats: FormatChecks): Environment {
  const parts = kubernetesParts(minor, formats)
  return new Environment({ ...parts, macros: new Map([...parts.macros, ...bindMacros]) })
}

function kubernetesParts(minor: number, formats: FormatChecks): EnvironmentParts {
  const compatible = minor - 1
  return {
    libraries: [
      ...libraries.flatMap(([since, ...known]) => (since <= compatible ? known : [])),
      authorizersOf(formats),
      formatsOf(formats),
    ],
    macros: new Map(macros.flatMap(([since, known]) => (since <= compatible ? [...known] : []))),
    isStrict: true,
  }
}
