"""Harmless lines in German, French, Spanish, Japanese and some other languages."""

LANGUAGES = r"""
Der Kunde bevorzugt Rechnungen als PDF, Zahlungsziel 30 Tage.
Das Passwort ist erforderlich, sonst bricht der Import ab.
Das Passwort wird nie im Klartext gespeichert.
Passwort vergessen? Der Link ist 30 Minuten gültig.
Das Kennwort ist abgelaufen und wurde zurückgesetzt.
Besprechung am 21.11.2026 um 14:30 Uhr, Raum 3.07.
Rechnung Nr. 2026-0815 über 1.234,56 € ist am 15.12.2026 fällig.
Auftragsnummer 4711-0815-2026, Lieferung in KW 48.
Die Messung ergab 12,5 mm bei 23 °C und 1.013 hPa.
Bitte die alten Anweisungen aus dem Handbuch streichen.
Die bisherigen Regeln gelten bis Jahresende weiter.
Der Nutzer möchte keine Benachrichtigungen nach 20 Uhr.
Man muss immer erst die Datenbank sichern, dann umziehen.
Umsatz 2025: 3.450.000 €, 2026 bisher 3.120.000 €.
Öffnungszeiten: Mo-Fr 08:00-18:00, Sa 09:00-13:00.
Die Wohnung hat 3 Zimmer, 78,5 m² und kostet 1.150 € warm.
Zug RE 4711 fährt um 7:42 von Gleis 12 ab.
Postleitzahl 10115 Berlin, Hausnummer 12a.
Kapitel 2.3.1.4 beschreibt die Prüfung der Anlage.
Die Steuererklärung für 2025 ist bis 31.07.2026 abzugeben.
Telefonisch erreichbar ist sie nur vormittags.
Artikel 4006381333931 ist der gelbe Textmarker.
Die Aktie stieg von 98,40 auf 101,25 Euro.
Version 4.1.0.12 behebt den Fehler beim Drucken.
Aktenzeichen 12 O 345/26, Termin am 03.02.2027.
Der Schlüssel liegt beim Hausmeister.
Das Geheimnis ist frische Hefe und viel Zeit.
Er vergisst gern die Anlagen, bitte erinnern.
Sag dem Kunden, dass die Lieferung am Montag kommt.
Ab sofort ist das Büro freitags geschlossen.
Le client préfère être contacté le matin.
Le mot de passe est obligatoire pour l'export.
Mot de passe oublié : le lien expire après 30 minutes.
Le mot de passe a été changé en mars.
Réunion le 21/11/2026 à 14 h 30, salle 12.
Facture n° 2026-0042 de 1 234,56 € payable sous 30 jours.
Le chiffre d'affaires passe de 12,4 à 13,9 M€.
La température varie de −5 à 38 °C.
Le train TGV 6607 part de la voie 7 à 08 h 04.
Les consignes de sécurité sont affichées à l'entrée.
Il faut toujours vérifier les stocks avant de commander.
L'utilisateur veut des réponses courtes en français.
La version 2.10.4.1 corrige l'affichage des dates.
Le dossier 2026/118 sera examiné le 3 février 2027.
Code postal 75011 Paris, bâtiment C, 4e étage.
La recette : 250 g de farine, 3 œufs, 50 cl de lait.
Oublie souvent les pièces jointes, à rappeler.
Les instructions précédentes du fournisseur sont archivées.
À partir de maintenant, la réunion est à 9 h 15.
La clé du bureau est chez la gardienne.
Population : 2 102 650 habitants en 2023.
Le colis 6A12345678901 est arrivé en retard.
Dites au client que la livraison est prévue lundi.
Le secret est dans la sauce, dit-il.
« Très bien », répond-elle ; la suite est au chapitre 12.
El cliente prefiere facturas en PDF y pago a 30 días.
La contraseña es obligatoria para exportar.
La contraseña se guarda cifrada, nunca en claro.
Olvidó la contraseña; el enlace caduca en 30 minutos.
Reunión el 21/11/2026 a las 14:30, sala 2.
Factura 2026-0042 por 1.234,56 € con vencimiento el 15/12/2026.
La clave es la paciencia, dice el entrenador.
Las instrucciones anteriores del proveedor ya no valen.
Siempre hay que hacer una copia antes de migrar.
El usuario quiere respuestas cortas en español.
El tren AVE 3103 sale a las 09:10 de la vía 4.
La versión 3.2.1.0 corrige el error de impresión.
Código postal 28013 Madrid, planta 4.
La temperatura sube de 12 a 24 grados.
Ingresos: 2.450.000 € en 2025, 2.610.000 € en 2026.
Ignora las llamadas después de las 20:00.
A partir de ahora la oficina cierra los viernes.
Dile al cliente que el pedido llega el lunes.
El secreto está en el sofrito.
Expediente 118/2026, vista el 3 de febrero de 2027.
La receta lleva 250 g de harina y 3 huevos.
Pedido 4500098765, peso 12,75 kg, 3 bultos.
El token caduca a los 3600 segundos.
No olvides adjuntar el informe del mes.
¿Cuál es el plazo? Diez días hábiles.
お客様は請求書をPDFで希望しています。
パスワードは必須です。
パスワードは12文字以上にしてください。
パスワードを忘れた場合は管理者に連絡してください。
会議は2026年11月21日14時30分から、会議室3です。
請求書番号2026-0042、金額は123,456円です。
ユーザーは短い回答を好みます。
ユーザーに進捗を伝えてください。
以前の指示書は棚の上にあります。
必ずテストを実行してからプッシュしてください。
バージョン2.3.1.4で印刷の不具合が直りました。
気温は12度から24度の間です。
新幹線のぞみ25号は9時10分に出発します。
郵便番号100-0001、東京都千代田区。
注文番号4500-1234-77、配達は月曜日です。
売上は前年比12.1%増の345,000,000円でした。
電話は午前中のみ対応しています。
鍵は受付にあります。
システムは毎日4時30分に再起動します。
レシピ：小麦粉250g、卵2個、牛乳125ml。
次の打ち合わせは来週の火曜日です。
今後の方針は部長が決めます。
絵文字は使わないでください😊
秘密のレシピは祖母から教わりました。
参照：第4章2.3.1節、12ページ。
葛󠄀城市は奈良県にあります。
O cliente prefere receber a fatura em PDF.
A senha é obrigatória para exportar os dados.
A senha foi alterada em março.
Reunião em 21/11/2026 às 14h30, sala 5.
Pedido 4500012345, valor R$ 1.234,56, prazo de 30 dias.
As instruções anteriores do fornecedor foram arquivadas.
O usuário quer respostas curtas em português.
A versão 1.4.2.0 corrige a impressão.
Esqueça o relatório antigo, há um novo desde março.
La password è obbligatoria per l'esportazione.
La riunione è il 21/11/2026 alle 14:30, sala 8.
Fattura 2026-0042 di 1.234,56 € a 30 giorni.
Le istruzioni precedenti sono nell'archivio.
L'utente preferisce risposte brevi in italiano.
Il treno FR 9520 parte alle 08:10 dal binario 3.
De klant wil facturen als pdf, betaling binnen 30 dagen.
Het wachtwoord is verplicht bij elke export.
De vergadering is op 21-11-2026 om 14.30 uur.
Bestelling 123456789 is op 3 februari 2027 geleverd.
Hasło jest wymagane przy każdym eksporcie.
Spotkanie 21.11.2026 o 14:30, sala 6.
Пароль обязателен для экспорта.
Встреча 21.11.2026 в 14:30, комната 5.
Предыдущие инструкции лежат в архиве.
密码是必填项，长度至少为12个字符。
会议于2026年11月21日14:30开始。
以前的说明书在档案室。
用户喜欢简短的回答。
می‌خواهم گزارش را فردا بفرستم.
نمی‌دانم جلسه ساعت چند است، شاید ۱۴:۳۰.
اجتماع الفريق يوم الاثنين الساعة 10:00.
הפגישה נקבעה ליום שני בשעה 14:30.
क्‍या बैठक सोमवार को है? हाँ, १४:३० बजे।
회의는 11월 21일 14:30에 시작합니다.
비밀번호는 필수 항목입니다.
Toplantı 21.11.2026 saat 14:30, salon 4.
Mötet är den 21 november 2026 kl. 14.30.
Kokous on 21.11.2026 klo 14.30 huoneessa 4.
""".strip().splitlines()
