/** The tests of cel-spec, as JSON of their messages. */

import { tests as all } from '@bufbuild/cel-spec/testdata/conformance.js'

export interface SpecType {
  readonly primitive?: string
  readonly listType?: { readonly elemType?: SpecType }
  readonly mapType?: { readonly keyType?: SpecType; readonly valueType?: SpecType }
  readonly abstractType?: { readonly name: string; readonly parameterTypes?: readonly SpecType[] }
}

export interface SpecValue {
  readonly int64Value?: string
  readonly uint64Value?: string
  readonly doubleValue?: number | string
  readonly stringValue?: string
  readonly bytesValue?: string
  readonly boolValue?: boolean
  readonly typeValue?: string
  readonly listValue?: { readonly values?: readonly SpecValue[] }
  readonly mapValue?: {
    readonly entries?: readonly { readonly key: SpecValue; readonly value: SpecValue }[]
  }
}

export interface SpecTest {
  readonly name: string
  readonly expr: string
  readonly container?: string
  readonly disableCheck?: boolean
  readonly disableMacros?: boolean
  readonly checkOnly?: boolean
  readonly typeEnv?: readonly {
    readonly name: string
    readonly ident?: { readonly type?: SpecType }
    readonly function?: object
  }[]
  readonly bindings?: Readonly<Record<string, { readonly value?: SpecValue }>>
  readonly value?: SpecValue
  readonly typedResult?: { readonly result?: SpecValue }
  readonly evalError?: object
  readonly anyEvalErrors?: object
}

export interface SpecSuite {
  readonly name: string
  readonly suites?: readonly SpecSuite[]
  readonly tests?: readonly { readonly original: SpecTest; readonly error?: string }[]
}

export const tests = all as unknown as SpecSuite
