/** The transforms of a row or a node, in their order: each a form, which can be moved and taken out. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { answerOf } from '../../lib/answer.ts';
import { useAsked } from '../../lib/use-asked.ts';
import { AskedView } from '../../parts/asked-view.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Marked } from '../../parts/marked.tsx';
import { T } from '../../texts.ts';
import { withMovedItem, withoutItem } from './edit-list.ts';
import { isMapping, valueAt, withItems, type Step, type Value } from './edit-yaml.ts';
import type { Form } from './field.tsx';
import { issuesAt } from './fields.ts';
import { Settings } from './settings.tsx';
import { Wrong } from './wrong.tsx';

interface TransformListProps {
  readonly text: string;
  readonly steps: readonly Step[];
  readonly form: Form;
  readonly onText: (text: string) => void;
}

/** What has the focus when the list has been drawn again. */
interface Focus {
  readonly index: number;
  readonly control: 'up' | 'down' | 'summary';
}

export function TransformList({ text, steps, form, onText }: TransformListProps) {
  const listed = valueAt(form.values, steps);
  const items: readonly Value[] = Array.isArray(listed) ? listed : [];
  const [open, setOpen] = useState<number>();
  const [isRefused, setRefused] = useState(false);
  const [told, setTold] = useState('');
  const focus = useRef<Focus | undefined>(undefined);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const wanted = focus.current;
    focus.current = undefined;
    if (wanted === undefined) return;
    const item = list.current?.children[Math.min(wanted.index, items.length - 1)];
    const control = item?.querySelector<HTMLElement>(`[data-control="${wanted.control}"]`);
    // The first one cannot go further up.
    const isOff = control instanceof HTMLButtonElement && control.disabled;
    const other = item?.querySelector<HTMLElement>('[data-control="summary"]');
    ((isOff ? other : control) ?? other)?.focus();
  }, [text]);
  const change = (next: string | undefined, after: Focus | undefined, what: string): boolean => {
    setRefused(next === undefined);
    if (next === undefined) return false;
    focus.current = after;
    setTold(what);
    onText(next);
    return true;
  };
  const { transforms: words } = T.author.form;
  const move = (index: number, to: number, control: 'up' | 'down'): void => {
    const isMoved = change(
      withMovedItem(text, steps, { from: index, to }),
      { index: to, control },
      words.moved(typeOf(items[index]), to + 1),
    );
    if (!isMoved || open === undefined) return;
    if (open === index) setOpen(to);
    else if (open === to) setOpen(index);
  };
  const remove = (index: number): void => {
    const isGone = change(
      withoutItem(text, steps, index),
      { index, control: 'summary' },
      words.removed(typeOf(items[index])),
    );
    if (isGone) setOpen(undefined);
  };
  const add = (type: string): void => {
    const index = items.length;
    const isAdded = change(
      withItems(text, steps, [{ type, config: {} }]),
      { index, control: 'summary' },
      words.added(type),
    );
    if (isAdded) setOpen(index);
  };
  return (
    <>
      <p class="muted">{items.length === 0 ? words.empty : words.hint}</p>
      <ol class="transforms" ref={list}>
        {items.map((item, index) => (
          <li key={index}>
            <Item
              item={item}
              steps={[...steps, index]}
              form={form}
              place={{ index, last: items.length - 1 }}
              isOpen={open === index}
              onOpen={(isOpen) => setOpen(isOpen ? index : undefined)}
              onMove={(to, control) => move(index, to, control)}
              onRemove={() => remove(index)}
            />
          </li>
        ))}
      </ol>
      <Wrong
        of={issuesAt(form.issues, steps, [...items.keys()].map(String))}
        notes={[isRefused ? T.author.form.byHand : undefined]}
      />
      <p class="hidden" role="status">
        {told}
      </p>
      <Adding onAdd={add} />
    </>
  );
}

interface ItemProps {
  readonly item: Value;
  readonly steps: readonly Step[];
  readonly form: Form;
  readonly place: { readonly index: number; readonly last: number };
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  readonly onMove: (to: number, control: 'up' | 'down') => void;
  readonly onRemove: () => void;
}

function Item({ item, steps, form, place, isOpen, onOpen, onMove, onRemove }: ItemProps) {
  const { index, last } = place;
  const type = typeOf(item);
  const name = `${index + 1}, ${type}`;
  const isWrong = issuesAt(form.issues, steps).length > 0;
  const { transforms: texts } = T.author.form;
  return (
    <div class={isWrong ? 'transform-item wrong-inside' : 'transform-item'}>
      <div class="transform-head">
        <button
          type="button"
          class="link"
          data-control="summary"
          aria-expanded={isOpen}
          onClick={() => onOpen(!isOpen)}
          onKeyDown={(event) => {
            if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
            event.preventDefault();
            const to = event.key === 'ArrowUp' ? index - 1 : index + 1;
            if (to >= 0 && to <= last) onMove(to, event.key === 'ArrowUp' ? 'up' : 'down');
          }}
        >
          <Icon name="chevron" /> <span class="muted">{index + 1}</span> <code>{type}</code>
          {isWrong ? (
            <span class="problem">
              {' '}
              <Icon name="warning" /> {texts.problem}
            </span>
          ) : null}
        </button>
        <span class="buttons">
          <button
            type="button"
            data-control="up"
            aria-label={texts.up(name)}
            title={texts.up(name)}
            disabled={index === 0}
            onClick={() => onMove(index - 1, 'up')}
          >
            ↑
          </button>
          <button
            type="button"
            data-control="down"
            aria-label={texts.down(name)}
            title={texts.down(name)}
            disabled={index === last}
            onClick={() => onMove(index + 1, 'down')}
          >
            ↓
          </button>
          <button type="button" aria-label={T.author.form.remove(name)} onClick={onRemove}>
            {texts.remove}
          </button>
        </span>
      </div>
      {isOpen ? (
        <div class="transform-settings">
          <Wrong of={issuesAt(form.issues, steps, ['config'])} />
          <Settings key={type} steps={steps} role="transform" form={{ ...form, kind: type }} />
        </div>
      ) : null}
    </div>
  );
}

function typeOf(item: Value): string {
  return isMapping(item) && typeof item['type'] === 'string' ? item['type'] : '?';
}

function Adding({ onAdd }: { readonly onAdd: (type: string) => void }) {
  const asked = useAsked(async (client, signal) =>
    answerOf(await client.routes.GET('/v1/schemas', { signal })),
  );
  const [chosen, setChosen] = useState('');
  const { transforms: texts } = T.author.form;
  return (
    <AskedView of={asked}>
      {({ transforms }) => (
        <form
          class="adding"
          onSubmit={(event) => {
            event.preventDefault();
            onAdd(chosen);
          }}
        >
          <label class="field">
            <span>{texts.kind}</span>
            <select
              required
              value={chosen}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
            >
              <option value="">{T.author.form.choose}</option>
              {transforms.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">{texts.add}</button>
          <p class="muted">
            <Marked text={transforms.find(({ name }) => name === chosen)?.description} />
          </p>
        </form>
      )}
    </AskedView>
  );
}
