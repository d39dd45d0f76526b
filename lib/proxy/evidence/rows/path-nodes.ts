/** The fields of messages by their path: what a walk over stored protobuf needs of the schema. A
 *  message that contains its own type is the same node again, so that a kind has a finite number of
 *  nodes. */

import type { MessageField, MessageType } from '@watchglass/codec'

/** The forms of a field's bytes: */
export type FieldForm =
  | 'plain'
  | 'text'
  | 'message'
  | 'quantity'
  | 'map'
  | 'quantities'
  | 'messages'

export interface FieldPlan {
  readonly form: FieldForm
  /** Texts may be API names. */
  readonly hasNames: boolean
  readonly child: RowNode | undefined
}

export class RowNode {
  readonly id: number
  /** Names in it describe the object, not who has written it. */
  readonly isOrdered: boolean
  readonly #type: MessageType
  readonly #above: readonly RowNode[]
  readonly #ids: { next: number }
  #fields: (FieldPlan | undefined)[] | undefined = undefined

  constructor(type: MessageType, above: readonly RowNode[] = [], ids = { next: 1 }) {
    this.id = ids.next++
    this.#type = type
    this.#above = above
    this.#ids = ids
    this.isOrdered = !type.name.startsWith('meta/') && above.every(({ isOrdered }) => isOrdered)
  }

  /** By number. */
  get fields(): readonly (FieldPlan | undefined)[] {
    this.#fields ??= this.#plan()
    return this.#fields
  }

  #plan(): (FieldPlan | undefined)[] {
    const plans: (FieldPlan | undefined)[] = []
    for (const field of this.#type.fields) {
      plans[field.number] = {
        form: formOf(field),
        hasNames: !freeTexts.has(field.jsonName),
        child: isMessage(field) ? this.#childOf(field.type) : undefined,
      }
    }
    return plans
  }

  #childOf(name: string): RowNode {
    const known = [this, ...this.#above].find(node => node.#type.name === name)
    if (known !== undefined) return known
    return new RowNode(this.#type.schema.messageType(name), [this, ...this.#above], this.#ids)
  }
}

function formOf({ container, type }: MessageField): FieldForm {
  const isOfMessages = type.includes('.')
  if (container === 'map') {
    return type === 'quantity' ? 'quantities' : isOfMessages ? 'messages' : 'map'
  }
  if (isOfMessages) return 'message'
  return type === 'string' ? 'text' : type === 'quantity' ? 'quantity' : 'plain'
}

function isMessage({ type }: MessageField): boolean {
  return type.includes('.')
}

/** Texts that people or programs choose: one that looks like an API name is not taken for one. */
export const freeTexts: ReadonlySet<string> = new Set([
  'args',
  'command',
  'description',
  'image',
  'key',
  'manager',
  'message',
  'name',
  'note',
  'value',
])
