# Rulings in Russian. Terms as in the Russian rule document.
ball-white = белый
ball-yellow = жёлтый
ball-red = красный
ball-cue = биток
ball-numbered = шар { $number }
rail-head = передний
rail-foot = задний
rail-left = левый
rail-right = правый
rails = { $rails } борт
then = , затем

with-clauses = { $text } ({ $clauses }).
proposed = Предложение: { $text }

scored = Очко: { $path }
missed-no-ball = Без очка: биток не коснулся ни одного прицельного шара
missed-one-ball = Без очка: биток коснулся только одного шара ({ $ball })
missed-few-rails = Без очка: до второго шара ({ $ball }) { $rails ->
    [0] нет касаний борта
    [one] { $rails } касание борта
    [few] { $rails } касания борта
   *[other] { $rails } касаний борта
}, нужно { $needed }
missed-serve = Без очка: на первом ударе матча биток должен сначала коснуться красного
missed-simultaneous = Без очка: { $rail } борт и { $ball } одновременно
jump-ball = Фол: { $ball } за пределами стола

lag-nearer = Раскат выиграл { $ball }: он ближе к переднему борту
lag-fault = Раскат выиграл { $ball }: другой раскат выполнен неверно
lag-both = Раскат заново: оба выполнены неверно
lag-eye = Раскат заново: на глаз не различить

unclear-event = Решить нельзя: всё зависит от одного события — { $event }, вероятность { $percent } %
unclear-order = Решить нельзя: { $first } и { $second } разделяют { $gap } ± { $err } мс
unclear-pending = Решить нельзя: очко было бы, но остановка шаров не видна
unclear-unfinished = Решить нельзя: остановка шаров не видна, очко ещё возможно
unclear-starts-before-recording = Решить нельзя: удар начался до записи
unclear-ends-before-rest = Решить нельзя: остановка шаров не видна
unclear-cut = Решить нельзя: во время удара картинка сменилась
unclear-camera-moved = Решить нельзя: во время удара камера сдвинулась
unclear-frames-lost = Решить нельзя: нет кадров, от которых зависит решение
unclear-occluded = Решить нельзя: биток был закрыт в важный момент
unclear-strike = Решить нельзя: не видно, по какому шару нанесён удар
unclear-not-a-cue-ball = Решить нельзя: удар нанесён не по битку ({ $ball })
unclear-wrong-ball = Судье: удар вне очереди ({ $ball }): чужой биток или ошибка в прежнем решении
unclear-two-strikes = Судье: два удара кием при движущихся шарах
unclear-serve = Решить нельзя: очко есть, если это не первый удар матча
unclear-lag-rest = Решить нельзя: остановка шара не видна ({ $ball })
unclear-lag-close = Решить нельзя: для камеры шары раската слишком близки
unclear-after-end = К этому удару матч уже завершён
unclear-no-module = Решить нельзя: правил этой игры пока нет

event-strike = удар по шару ({ $ball })
event-contact = касание шаров ({ $ball }, { $other })
event-rail = касание борта ({ $ball }, { $rail })
event-pocket = падение в лузу ({ $ball })
event-off-table = вылет за пределы стола ({ $ball })
event-rest = остановка ({ $ball })

person-point = Очко по слову судьи
person-no-point = Без очка по слову судьи
person-legal = Чистый удар по слову судьи
person-foul = Фол по слову судьи
person-lag = Раскат по слову судьи
person-review = Вопрос оставлен открытым по слову судьи
unstated = Причина не указана
