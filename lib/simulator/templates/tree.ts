/** A template as a tree of nodes. */

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  /** Prints a value, or sets a variable. */
  | { readonly kind: 'action'; readonly pipe: Pipe }
  | {
      readonly kind: 'if' | 'with' | 'range'
      readonly pipe: Pipe
      readonly body: readonly TemplateNode[]
      readonly otherwise: readonly TemplateNode[]
    }
  | { readonly kind: 'break' | 'continue' }

export interface Pipe {
  /** Variables that are declared, or set. */
  readonly variables: readonly string[]
  readonly isDeclaration: boolean
  readonly commands: readonly Command[]
}

/** An operand alone, or a function with its arguments. */
export interface Command {
  readonly operands: readonly Operand[]
}

export type Operand = (
  | { readonly kind: 'dot' | 'nil' }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'variable' | 'function'; readonly name: string }
  | { readonly kind: 'pipe'; readonly pipe: Pipe }
) & {
  /** Fields of its value: `.a.b`. */
  readonly fields: readonly string[]
}
